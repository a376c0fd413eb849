import { createHash } from "node:crypto";
import { isJsonObject } from "../../core/mod.ts";
import type { StateEntry } from "../../core/services/state.ts";
import { decodeState } from "../lib/memory-store.ts";

/** Says who wrote a record and how; another one was written by another version and is not read. */
const FORMAT = "toolpipe-state-1";

/** A value on the disk, with what it takes to know whose it is. */
export interface StateRecord extends StateEntry {
  /** The version it is to take the place of; none if the key was not there. */
  readonly after: string | undefined;
}

/** A record as text: a line with the hash of the rest, then the rest, so that no damage goes unseen. */
export function writeRecord(key: string, version: string, after: string | undefined, value: string): string {
  const head = JSON.stringify({ format: FORMAT, key, version, after });
  const body = `${head.slice(0, -1)},"value":${value}}\n`;
  return `${sha256(body)}\n${body}`;
}

/** The record in a text; nothing if it is damaged or of another format. */
export function readRecord(text: string): StateRecord | undefined {
  const body = text.slice(text.indexOf("\n") + 1);
  if (text !== `${sha256(body)}\n${body}`) return undefined;
  let record: unknown;
  try {
    record = decodeState(body);
  } catch {
    return undefined;
  }
  if (!isJsonObject(record) || record["format"] !== FORMAT) return undefined;
  const { key, version, after, value } = record;
  if (typeof key !== "string" || typeof version !== "string" || !isJsonObject(value)) return undefined;
  return { key, version, value, after: typeof after === "string" ? after : undefined };
}

/** A hash as 64 hexadecimal digits. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
