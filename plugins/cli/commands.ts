import { type CommandDef, defineCommand } from "citty";
import { version } from "../../core/version.ts";

// Each is loaded when it is called: `--version` must not wait for a gateway.
const commands = {
  serve: () => import("./serve.ts").then((module) => module.serve),
  list: () => import("./list.ts").then((module) => module.list),
  search: () => import("./search.ts").then((module) => module.search),
  tools: () => import("./tools.ts").then((module) => module.tools),
  inspect: () => import("./inspect.ts").then((module) => module.inspect),
  execute: () => import("./execute.ts").then((module) => module.execute),
  config: () => import("./config.ts").then((module) => module.config),
};

/** The command `toolpipe`. */
export const toolpipe: CommandDef = defineCommand({
  meta: {
    name: "toolpipe",
    version,
    description: "One small, safe, searchable front for every tool an agent could call.",
  },
  subCommands: {
    demo: () => import("./demo.ts").then((module) => module.demo),
    start: () => import("./start.ts").then((module) => module.start),
    init: () => import("./init.ts").then((module) => module.init),
    doctor: () => import("./doctor.ts").then((module) => module.doctor),
    ...commands,
    why: () => import("./why.ts").then((module) => module.why),
    refresh: () => import("./refresh.ts").then((module) => module.refresh),
    registry: () => import("./registry.ts").then((module) => module.registry),
    warm: () => import("./warm.ts").then((module) => module.warm),
    discover: () => import("./discover.ts").then((module) => module.discover),
    introspect: () => import("./introspect.ts").then((module) => module.introspect),
    approve: () => import("./approve.ts").then((module) => module.approve),
    revoke: () => import("./revoke.ts").then((module) => module.revoke),
    export: () => import("./export.ts").then((module) => module.exportCommand),
    forget: () => import("./forget.ts").then((module) => module.forget),
    login: () => import("./login.ts").then((module) => module.login),
    token: () => import("./token.ts").then((module) => module.token),
    audit: () => import("./audit.ts").then((module) => module.audit),
    completion: () => import("./completion.ts").then((module) => module.completion),
    __complete: () => import("./complete.ts").then((module) => module.complete),
    playground: () => import("./playground.ts").then((module) => module.playground),
    eval: () => import("./eval.ts").then((module) => module.evaluate),
  },
});

/** The command `anygpt`, with the commands of the AnyGPT specification under `mcp`. */
export const anygpt: CommandDef = defineCommand({
  meta: { name: "anygpt", version, description: "toolpipe under the names of the AnyGPT specification." },
  subCommands: {
    mcp: defineCommand({
      meta: { name: "mcp", description: "Explore and call the tools of every MCP server." },
      subCommands: commands,
    }),
  },
});
