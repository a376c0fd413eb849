import type { CommandTable } from "../../core/services/command.ts";
import { approvalCommands } from "../approvals/commands/mod.ts";
import { auditCommands } from "../audit/commands/mod.ts";
import { authCommands } from "../auth/commands/mod.ts";
import { discoveryCommands } from "../discovery/commands/mod.ts";
import { mcpCommands } from "../mcp/commands/mod.ts";
import { registryCommands } from "../registries/commands/mod.ts";
import { searchCommands } from "../search/commands/mod.ts";
import type { Program } from "./main.ts";

// Each command is loaded when it is called: `--version` and `--help` must not wait for a gateway.
const anygptCommands: CommandTable = {
  serve: {
    description: "Serve all tools to agents: to the client that starts this, or over HTTP",
    load: () => import("./serve.ts").then((module) => module.serve),
  },
  list: {
    description: "List all configured MCP servers, with their tools and status",
    load: () => import("./list.ts").then((module) => module.list),
  },
  search: {
    description: "Search for tools across all servers",
    load: () => import("./search.ts").then((module) => module.search),
  },
  tools: {
    description: "List the tools of every server, or of one",
    load: () => import("./tools.ts").then((module) => module.tools),
  },
  inspect: {
    description: "Describe a tool: what it does, its parameters, and examples",
    load: () => import("./inspect.ts").then((module) => module.inspect),
  },
  execute: {
    description: "Execute a tool of any server",
    load: () => import("./execute.ts").then((module) => module.execute),
  },
  config: {
    description: "Show, validate or reload the config, or list its sources",
    commands: {
      show: {
        description: "Show the config in use: where servers come from, the rules, and what came of it",
        load: () => import("./show.ts").then((module) => module.show),
      },
      validate: {
        description: "Check the config and everything it names; exit code 2 if it is wrong",
        load: () => import("./validate.ts").then((module) => module.validateConfig),
      },
      options: {
        description:
          "List the options of the plugins in use, or of one plugin, with type, default and meaning",
        load: () => import("./config-options.ts").then((module) => module.configOptions),
      },
      sources: {
        description: "List the files that servers come from, and what is wrong in them",
        load: () => import("./sources.ts").then((module) => module.sources),
      },
      reload: {
        description: "Have the running gateways read their config anew; exit code 2 if one keeps its old one",
        load: () => import("./reload.ts").then((module) => module.reload),
      },
    },
  },
};

/** The program `toolpipe`. */
export const toolpipe: Program = {
  name: "toolpipe",
  description: "One small, safe, searchable front for every tool an agent could call.",
  hidden: ["__complete"],
  commands: {
    demo: {
      description: "Call a few built-in tools and see how each goes through the pipeline",
      load: () => import("./demo.ts").then((module) => module.demo),
    },
    start: {
      description:
        "Serve your servers over HTTP, or a demo of three if you have none, and say how to connect a client",
      load: () => import("./start.ts").then((module) => module.start),
    },
    init: {
      description:
        "Move the servers of your clients behind toolpipe, after showing what that would change; --undo puts them back",
      load: () => import("./init/init.ts").then((module) => module.init),
    },
    doctor: {
      description:
        "Start every server, time it, count its tools and tokens, and say what is broken and how to fix it; exit code 1 if something is",
      load: () => import("./doctor/doctor.ts").then((module) => module.doctor),
    },
    ...anygptCommands,
    why: {
      description: "Explain why a server or a tool is, or is not, there to call",
      load: () => import("./why.ts").then((module) => module.why),
    },
    refresh: {
      description: "Ask all servers, or one, for their tools anew; exit code 3 if one fails",
      load: () => import("./refresh.ts").then((module) => module.refresh),
    },
    ...registryCommands,
    ...discoveryCommands,
    ...approvalCommands,
    ...mcpCommands,
    ...authCommands,
    ...auditCommands,
    completion: {
      description:
        "Print a script that makes your shell complete commands and names: bash, zsh, fish, powershell",
      load: () => import("./completion.ts").then((module) => module.completion),
    },
    __complete: {
      description: "Print what fits the words so far",
      load: () => import("./complete.ts").then((module) => module.complete),
    },
    playground: {
      description: "Try out how tools are found, on a page of your browser",
      load: () => import("./playground.ts").then((module) => module.playground),
    },
    ...searchCommands,
  },
};

/** The program `anygpt`, with the commands of the AnyGPT specification under `mcp`. */
export const anygpt: Program = {
  name: "anygpt",
  description: "toolpipe under the names of the AnyGPT specification.",
  commands: {
    mcp: { description: "Explore and call the tools of every MCP server.", commands: anygptCommands },
  },
};
