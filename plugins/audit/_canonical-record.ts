import { canonicalJson } from "../guard/canonical.ts";

/** Every field that a record can have, in the order of its canonical form. */
const FIELDS = [
  "actor_id",
  "chain",
  "count",
  "duration_ms",
  "event",
  "outcome",
  "params_hash",
  "parent_id",
  "prev_hash",
  "request_id",
  "seq",
  "stage",
  "timestamp",
  "tool_id",
  "via",
] as const;
const known: ReadonlySet<string> = new Set(FIELDS);

/**
 * The canonical JSON of a record. Fields in the right order are canonical as `JSON.stringify` writes them, which takes a
 * fifth of the time of sorting and quoting each; whatever else a sink's caller adds goes the general way.
 */
export function canonicalRecord(record: object): string {
  const given = record as Readonly<Record<string, unknown>>;
  const ordered: Record<string, unknown> = {};
  for (const field of FIELDS) {
    const value = given[field];
    if (value !== undefined) ordered[field] = value;
  }
  for (const field in given) {
    const isFlat = typeof given[field] !== "object" && known.has(field);
    if (!isFlat && given[field] !== undefined) return canonicalJson(record);
  }
  return JSON.stringify(ordered);
}
