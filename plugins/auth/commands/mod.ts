import type { CommandTable } from "../../../core/services/command.ts";

/** Commands for the tokens of callers. */
export const authCommands: CommandTable = {
  token: {
    description: "Make a token for a caller of this gateway over HTTP, and the lines for the config",
    load: async () => (await import("./token.ts")).command,
  },
};
