import type { CommandTable } from "../../../core/services/command.ts";

/** Commands of the stored state. */
export const stateCommands: CommandTable = {
  state: {
    description: "Go on after stored state was lost",
    commands: {
      acknowledge: {
        description:
          "Let calls go on whose earlier idempotency keys Redis has lost, once you know what was done",
        load: async () => (await import("./acknowledge.ts")).command,
      },
    },
  },
};
