import type { JsonObject } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { readAudit } from "../read.ts";
import { auditFields, csvLine } from "./line.ts";
import { auditPlace, placeArgs } from "./place.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Printed in pieces of about this size. */
const PIECE = 65_536;

/** Prints all records. */
export const exportAudit: Command = defineCommand({
  args: {
    json: { type: "boolean", description: "Print JSON, one record a line (this is the default)" },
    csv: { type: "boolean", description: "Print CSV" },
    since: {
      type: "string",
      description: "Only calls that began since then: a date such as 2026-01-31, or 30m, 12h, 7d ago",
      valueHint: "WHEN",
    },
    ...placeArgs,
    ...configArgs,
  },
  async run(given, context) {
    if (given.json && given.csv) throw usageError("Only one of --json and --csv can be chosen.");
    const since = given.since === undefined ? undefined : momentOf(given.since);
    const place = await auditPlace(given, context);
    // After a rotation by copying, the last lines may be in two files.
    const printed = new Set<unknown>();
    let piece = given.csv ? csvLine(auditFields) : "";
    for (const file of await place.files()) {
      for await (const { record } of readAudit(file)) {
        if (!record || printed.has(record["hash"]) || isBefore(record, since)) continue;
        printed.add(record["hash"] ?? record);
        piece += given.csv
          ? csvLine(auditFields.map((field) => record[field]))
          : `${JSON.stringify(record)}\n`;
        if (piece.length > PIECE) {
          await print(piece);
          piece = "";
        }
      }
    }
    await print(piece);
  },
});

function isBefore({ timestamp }: JsonObject, since: number | undefined): boolean {
  return since !== undefined && !(Date.parse(String(timestamp)) >= since);
}

/** The moment that was meant, in milliseconds since 1970. */
export function momentOf(text: string, now: number = Date.now()): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const moment = count === undefined ? Date.parse(text) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(moment)) return moment;
  throw usageError("The option --since needs a date such as 2026-01-31, or a time such as 30m, 12h or 7d.");
}

/** Waits for whoever reads it: an export is large. */
function print(text: string): Promise<void> | void {
  if (process.stdout.write(text) || process.stdout.destroyed) return;
  return new Promise((resolve) => {
    const done = (): void => {
      process.stdout.off("drain", done).off("close", done);
      resolve();
    };
    process.stdout.on("drain", done).on("close", done);
  });
}
