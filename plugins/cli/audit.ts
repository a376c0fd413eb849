import { type CommandDef, defineCommand } from "citty";
import { exportAudit } from "./audit-export.ts";
import { tail } from "./audit-tail.ts";
import { verify } from "./audit-verify.ts";

/** Shows, checks and exports the records of what was executed. */
export const audit: CommandDef = defineCommand({
  meta: { name: "audit", description: "Show, verify or export the records of what was executed" },
  subCommands: { tail, verify, export: exportAudit },
});
