import type { CommandTable } from "../../../core/services/command.ts";

/** Commands for the tokens of callers. */
export const authCommands: CommandTable = {
  token: {
    description: "Make a token for somebody who uses this gateway over HTTP, and the lines for the config",
    load: () => import("./token.ts").then((module) => module.token),
  },
};
