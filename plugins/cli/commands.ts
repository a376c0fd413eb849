import type { CommandTable } from "../../core/services/command.ts";
import { approvalCommands } from "../approvals/commands/mod.ts";
import { auditCommands } from "../audit/commands/mod.ts";
import { authCommands } from "../auth/commands/mod.ts";
import { discoveryCommands } from "../discovery/commands/mod.ts";
import { mcpCommands } from "../mcp/commands/mod.ts";
import { registryCommands } from "../registries/commands/mod.ts";
import { searchCommands } from "../search/commands/mod.ts";
import { stateCommands } from "../state/commands/mod.ts";
import type { Program } from "./main.ts";

// Each command is loaded when it is called, so that `--version` and `--help` load no gateway.
const anygptCommands: CommandTable = {
  serve: {
    description: "Serve all tools to agents: to the client that starts this, or over HTTP",
    load: async () => (await import("./serve.ts")).command,
  },
  list: {
    description: "List all configured MCP servers, with their tools and status",
    load: async () => (await import("./list.ts")).command,
  },
  search: {
    description: "Search for tools across all servers",
    load: async () => (await import("./search.ts")).command,
  },
  tools: {
    description: "List the tools of every server, or of one",
    load: async () => (await import("./tools.ts")).command,
  },
  inspect: {
    description: "Describe a tool, its parameters and examples",
    load: async () => (await import("./inspect.ts")).command,
  },
  execute: {
    description: "Execute a tool of any server",
    load: async () => (await import("./execute.ts")).command,
  },
  config: {
    description: "Show, validate or reload the config, or list its sources",
    commands: {
      show: {
        description: "Show the config in use: sources, rules, servers and tools",
        load: async () => (await import("./config/show.ts")).command,
      },
      validate: {
        description: "Check the config and the files it names; exit code 2 if it is invalid",
        load: async () => (await import("./config/validate.ts")).command,
      },
      options: {
        description:
          "List the options of the plugins in use, or of one plugin, with type, default and meaning",
        load: async () => (await import("./config/options.ts")).command,
      },
      sources: {
        description: "List the files that servers come from, and their problems",
        load: async () => (await import("./config/sources.ts")).command,
      },
      reload: {
        description: "Make running gateways read their config again; exit code 2 if one keeps its old config",
        load: async () => (await import("./config/reload.ts")).command,
      },
    },
  },
};

// Both programs have them: what the commands of the specification report is fixed with these.
const doctor: CommandTable[string] = {
  description:
    "Start every server, measure time, tools and tokens, and report problems with their fixes; exit code 1 if there are any",
  load: async () => (await import("./doctor/doctor.ts")).command,
};
const why: CommandTable[string] = {
  description: "Explain why a server or tool can or cannot be used",
  load: async () => (await import("./why.ts")).command,
};
const refresh: CommandTable[string] = {
  description: "List the tools of all servers, or of one, again; exit code 3 if a server fails",
  load: async () => (await import("./refresh.ts")).command,
};

/** The program `toolpipe`. */
export const toolpipeProgram: Program = {
  name: "toolpipe",
  description: "One small, safe, searchable gateway for every tool an agent could call.",
  hidden: ["__complete"],
  commands: {
    demo: {
      description: "Call a few built-in tools and print the stages of each call",
      load: async () => (await import("./demo.ts")).command,
    },
    start: {
      description:
        "Serve your servers over HTTP, or three demo servers if you have none, and print how to connect a client",
      load: async () => (await import("./start.ts")).command,
    },
    init: {
      description:
        "Move the servers of your clients behind toolpipe, after showing the changes; --undo restores them",
      load: async () => (await import("./init/init.ts")).command,
    },
    doctor,
    ...anygptCommands,
    why,
    refresh,
    ...registryCommands,
    ...discoveryCommands,
    ...approvalCommands,
    ...mcpCommands,
    ...authCommands,
    ...auditCommands,
    ...stateCommands,
    completion: {
      description:
        "Print a script that makes your shell complete commands and names: bash, zsh, fish, powershell",
      load: async () => (await import("./completion.ts")).command,
    },
    __complete: {
      description: "Print the completions of the typed words",
      load: async () => (await import("./completion.ts")).completeCommand,
    },
    playground: {
      description: "Try out tool search on a page in your browser",
      load: async () => (await import("./playground.ts")).command,
    },
    ...searchCommands,
  },
};

/** The program `anygpt`, with the commands of the AnyGPT specification under `mcp`. */
export const anygptProgram: Program = {
  name: "anygpt",
  description: "toolpipe under the names of the AnyGPT specification.",
  commands: {
    mcp: {
      description: "Explore and call the tools of every MCP server.",
      commands: {
        ...anygptCommands,
        doctor,
        why,
        refresh,
        ...approvalCommands,
        ...mcpCommands,
        ...auditCommands,
        ...stateCommands,
      },
    },
  },
};
