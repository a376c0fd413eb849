import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import { ifThere } from "../../lib/files.ts";
import { untilInterrupted } from "../../lib/terminal/interrupt.ts";
import { usageError } from "../../lib/terminal/output.ts";
import { readAudit } from "../read.ts";
import { auditLine } from "./line.ts";
import { type AuditPlace, auditPlace, placeArgs } from "./place.ts";

/** How often new records are looked for. */
const POLL_MS = 200;

/** Shows the last records, and those that come. */
export const tail: Command = defineCommand({
  args: {
    n: { type: "string", description: "Show so many", default: "10", valueHint: "N" },
    f: { type: "boolean", description: "Go on with those that come" },
    json: { type: "boolean", description: "Print JSON, one record a line" },
    ...placeArgs,
    ...configArgs,
  },
  async run(given, context) {
    if (!/^\d{1,9}$/.test(given.n)) throw usageError("The option -n needs a whole number.");
    const place = await auditPlace(given, context);
    const show = (record: JsonObject): void => {
      process.stdout.write(given.json ? `${JSON.stringify(record)}\n` : auditLine(record));
    };
    const { records, read } = await lastRecords(place, Number(given.n));
    for (const record of records) show(record);
    if (!given.f) {
      if (records.length === 0 && !given.json) process.stdout.write("There are no records.\n");
      return;
    }
    return untilInterrupted(async (signal) => {
      while (!signal.aborted) {
        for (const file of await place.files()) await showNew(file, read, show);
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
      return 0;
    });
  },
});

interface Last {
  readonly records: readonly JsonObject[];
  /** How far each file was read. */
  readonly read: Map<string, number>;
}

/** The last records of all files together, by the time of their calls. */
async function lastRecords(place: AuditPlace, count: number): Promise<Last> {
  const read = new Map<string, number>();
  let records: JsonObject[] = [];
  for (const file of await place.files()) {
    let own: JsonObject[] = [];
    for await (const { record, isWhole, end } of readAudit(file)) {
      if (!isWhole) continue;
      read.set(file, end);
      if (record) own.push(record);
      if (own.length > 2 * count + 1_000) own = lastOf(own, count);
    }
    records = lastOf([...records, ...lastOf(own, count)].toSorted(byTime), count);
  }
  return { records, read };
}

function lastOf<T>(list: readonly T[], count: number): T[] {
  return list.slice(Math.max(0, list.length - count));
}

function byTime(a: JsonObject, b: JsonObject): number {
  const [one, other] = [String(a["timestamp"]), String(b["timestamp"])];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

async function showNew(
  file: string,
  read: Map<string, number>,
  show: (record: JsonObject) => void,
): Promise<void> {
  const size = (await ifThere(stat(file)))?.size ?? 0;
  const before = read.get(file) ?? 0;
  // One that is shorter than before was begun anew.
  const from = size < before ? 0 : before;
  if (size === from) return;
  for await (const { record, isWhole, end } of readAudit(file, from)) {
    if (!isWhole) break;
    read.set(file, end);
    if (record) show(record);
  }
}
