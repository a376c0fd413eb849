import type { CommandTable } from "../../../core/services/command.ts";

/** Commands that measure rankings. */
export const searchCommands: CommandTable = {
  eval: {
    description: "Measure how well and how fast rankers find what labelled queries want",
    load: () => import("./eval.ts").then((module) => module.evaluate),
  },
};
