import type { JsonObject } from "../../../core/mod.ts";
import { shownLine } from "../../lib/terminal/output.ts";

/** The fields of a record, in the order in which a table shows them. */
export const auditFields: readonly string[] = [
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

/** A record as a line for a person. */
export function auditLine(record: JsonObject): string {
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
  const text = cells.filter((cell) => cell !== undefined).join("  ");
  return `${shownLine(text.replaceAll("  ", "\u00a0\u00a0")).replaceAll("\u00a0", " ")}\n`;
}

/** A record as a line of CSV (RFC 4180). A spreadsheet would run what begins like a formula. */
export function csvLine(values: readonly unknown[]): string {
  const cells = values.map((value) => {
    if (value === undefined || value === null) return "";
    if (typeof value === "number") return String(value);
    const text = String(value);
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  });
  return `${cells.join(",")}\r\n`;
}
