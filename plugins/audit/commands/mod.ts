import type { CommandTable } from "../../../core/services/command.ts";

/** Commands that read the audit records. */
export const auditCommands: CommandTable = {
  audit: {
    description: "Show, verify or export the records of what was executed",
    commands: {
      tail: {
        description: "Show the last records",
        load: async () => (await import("./tail.ts")).command,
      },
      verify: {
        description:
          "Check that no record was changed, removed or moved, and no file cut or rewritten; exit code 1 if so",
        load: async () => (await import("./verify.ts")).command,
      },
      export: {
        description: "Print all records, file by file: one JSON object a line, or CSV",
        load: async () => (await import("./export.ts")).command,
      },
    },
  },
};
