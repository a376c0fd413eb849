import type { CommandTable } from "../../../core/services/command.ts";

/** Commands for MCP servers that want a login. */
export const mcpCommands: CommandTable = {
  login: {
    description: "Log in to a remote server in your browser",
    load: () => import("./login.ts").then((module) => module.login),
  },
};
