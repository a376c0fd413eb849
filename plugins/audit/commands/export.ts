import type { JsonObject } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { locateAudit, locationArgs, readAudit } from "../audit-files.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Characters of one write. */
const CHUNK = 65_536;

/** Columns of the CSV. */
const columns: readonly string[] = [
  "timestamp",
  "event",
  "outcome",
  "tool_id",
  "actor_id",
  "request_id",
  "parent_id",
  "params_hash",
  "stage",
  "via",
  "duration_ms",
  "count",
  "chain",
  "seq",
  "prev_hash",
  "hash",
];

/** Prints all records. */
export const command = defineCommand({
  args: {
    json: { type: "boolean", description: "Print JSON, one record a line (this is the default)" },
    csv: { type: "boolean", description: "Print CSV" },
    since: {
      type: "string",
      description: "Only calls that began since then: a date such as 2026-01-31, or 30m, 12h, 7d ago",
      valueHint: "WHEN",
    },
    ...locationArgs,
    ...configArgs,
  },
  async run(given, context) {
    if (given.json && given.csv) throw usageError("Only one of --json and --csv can be chosen.");
    const since = given.since === undefined ? undefined : parseTime(given.since);
    const location = await locateAudit(given, context);
    // After a rotation by copying, the last lines may be in two files.
    const printed = new Set<unknown>();
    let chunk = given.csv ? csvLine(columns) : "";
    for (const file of await location.files()) {
      for await (const { record } of readAudit(file)) {
        if (!record || printed.has(record["hash"]) || isBefore(record, since)) continue;
        printed.add(record["hash"] ?? record);
        chunk += given.csv ? csvLine(columns.map((field) => record[field])) : `${JSON.stringify(record)}\n`;
        if (chunk.length > CHUNK) {
          await print(chunk);
          chunk = "";
        }
      }
    }
    await print(chunk);
  },
});

function isBefore({ timestamp }: JsonObject, since: number | undefined): boolean {
  return since !== undefined && !(Date.parse(String(timestamp)) >= since);
}

/** Parses `--since` to milliseconds since 1970. */
export function parseTime(value: string, now: number = Date.now()): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(value) ?? [];
  const moment = count === undefined ? Date.parse(value) : now - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isFinite(moment)) return moment;
  throw usageError(
    `The option --since needs a date such as 2026-01-31, or a time such as 30m, 12h or 7d; "${value}" is neither.`,
  );
}

/** Writes to standard output and waits until the reader keeps up: an export is large. */
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

/** Formats a line of CSV (RFC 4180). Cells that begin like a formula get a quote, because a spreadsheet would run them. */
function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    if (value === undefined || value === null) return "";
    if (typeof value === "number") return String(value);
    const text = String(value);
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  });
  return `${cells.join(",")}\r\n`;
}
