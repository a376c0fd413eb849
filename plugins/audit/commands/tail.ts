import { stat } from "node:fs/promises";
import type { JsonObject } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { sleep } from "../../lib/backoff.ts";
import { ifExists } from "../../lib/files.ts";
import { toTerminalLine, usageError } from "../../lib/terminal/output.ts";
import { untilInterrupted } from "../../lib/terminal/process.ts";
import { type AuditLocation, locateAudit, locationArgs, readAudit } from "../audit-files.ts";

/** Interval at which files are checked for new records. */
const POLL_MS = 200;

/** Prints the last records, and with -f new ones as they are written. */
export const command = defineCommand({
  args: {
    n: { type: "string", description: "Number of records", default: "10", valueHint: "N" },
    f: { type: "boolean", description: "Follow: print new records as they are written" },
    json: { type: "boolean", description: "Print JSON, one record a line" },
    ...locationArgs,
    ...configArgs,
  },
  async run(given, context) {
    if (!/^\d{1,9}$/.test(given.n)) throw usageError(`The option -n needs a whole number, not "${given.n}".`);
    const location = await locateAudit(given, context);
    const print = (record: JsonObject): void => {
      process.stdout.write(given.json ? `${JSON.stringify(record)}\n` : formatRecord(record));
    };
    const { records, read } = await readLast(location, Number(given.n));
    for (const record of records) print(record);
    if (!given.f) {
      if (records.length === 0 && !given.json) process.stdout.write("There are no records.\n");
      return;
    }
    return untilInterrupted(async (signal) => {
      while (!signal.aborted) {
        for (const file of await location.files()) await printNew(file, read, print);
        await sleep(POLL_MS, signal).catch(() => {});
      }
      return 0;
    });
  },
});

/** Reads the last records of all files together, by time. */
async function readLast(location: AuditLocation, count: number) {
  const read = new Map<string, number>();
  let records: JsonObject[] = [];
  for (const file of await location.files()) {
    let own: JsonObject[] = [];
    for await (const { record, isWhole, end } of readAudit(file)) {
      if (!isWhole) continue;
      read.set(file, end);
      if (record) own.push(record);
      if (own.length > 2 * count + 1_000) own = takeLast(own, count);
    }
    records = takeLast([...records, ...takeLast(own, count)].toSorted(compareTime), count);
  }
  return {
    records,
    /** Offset up to which each file was read. */
    read,
  };
}

function takeLast<T>(list: readonly T[], count: number): T[] {
  return list.slice(Math.max(0, list.length - count));
}

function compareTime(a: JsonObject, b: JsonObject): number {
  const [one, other] = [String(a["timestamp"]), String(b["timestamp"])];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

async function printNew(
  file: string,
  read: Map<string, number>,
  print: (record: JsonObject) => void,
): Promise<void> {
  const size = (await ifExists(stat(file)))?.size ?? 0;
  const before = read.get(file) ?? 0;
  // A file that is shorter than before was replaced.
  const from = size < before ? 0 : before;
  if (size === from) return;
  for await (const { record, isWhole, end } of readAudit(file, from)) {
    if (!isWhole) break;
    read.set(file, end);
    if (record) print(record);
  }
}

/** Formats a record for a terminal. */
function formatRecord(record: JsonObject): string {
  const { timestamp, event, outcome, tool_id, actor_id, via, duration_ms: ms, count } = record;
  const took = typeof ms === "number" && event !== "intent" ? `${ms} ms` : undefined;
  const cells = [
    String(timestamp ?? "").padEnd(24),
    String(event ?? "").padEnd(7),
    String(outcome ?? "").padEnd(12),
    tool_id,
    actor_id === undefined ? undefined : `by ${actor_id}`,
    via === undefined ? undefined : `via ${via}`,
    took,
    count,
  ];
  const line = cells.filter((cell) => cell !== undefined).join("  ");
  return `${toTerminalLine(line.replaceAll("  ", "\u00a0\u00a0")).replaceAll("\u00a0", " ")}\n`;
}
