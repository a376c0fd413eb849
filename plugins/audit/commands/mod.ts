import type { CommandTable } from "../../../core/services/command.ts";

/** Commands that read the audit records. */
export const auditCommands: CommandTable = {
  audit: {
    description: "Show, verify or export the records of what was executed",
    commands: {
      tail: {
        description: "Show the last records",
        load: () => import("./tail.ts").then((module) => module.tail),
      },
      verify: {
        description: "Check that no record was changed, removed or moved; exit code 1 if one was",
        load: () => import("./verify.ts").then((module) => module.verify),
      },
      export: {
        description: "Print all records, file by file: one JSON object a line, or CSV",
        load: () => import("./export.ts").then((module) => module.exportAudit),
      },
    },
  },
};
