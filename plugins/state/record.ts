import { randomUUID } from "node:crypto";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { StateEntry } from "../../core/services/state.ts";
import { ifExists, listFolder, readIfExists, unlinkIfExists } from "../lib/files.ts";
import { sha256Hex } from "../lib/hash.ts";
import { decodeState, MAX_STATE_SIZE } from "../lib/memory-store.ts";

/** Format of records that are written. */
const FORMAT = "toolpipe-state-1";

/** Formats that are read. A later format adds its line and keeps these: a record that is not read blocks its key. */
const FORMATS: Readonly<Record<string, (record: JsonObject) => JsonObject>> = {
  [FORMAT]: (record) => record,
};

/** A value on the disk, with its key and version. */
export interface StateRecord extends StateEntry {
  /** The version that it replaces; none if the key was missing. */
  readonly after: string | undefined;
}

/** Encodes a record: a line with the hash of the rest, which reveals damage, then the rest. */
export function encodeRecord(key: string, version: string, after: string | undefined, value: string): string {
  const head = JSON.stringify({ format: FORMAT, key, version, after });
  const body = `${head.slice(0, -1)},"value":${value}}\n`;
  return `${sha256Hex(body)}\n${body}`;
}

/** Decodes a record; undefined if it is damaged or of a format that is not known. */
export function decodeRecord(text: string): StateRecord | undefined {
  const body = text.slice(text.indexOf("\n") + 1);
  if (text !== `${sha256Hex(body)}\n${body}`) return undefined;
  let record: unknown;
  try {
    record = decodeState(body);
  } catch {
    return undefined;
  }
  if (!isJsonObject(record)) return undefined;
  const format = String(record["format"]);
  if (!Object.hasOwn(FORMATS, format)) return undefined;
  const { key, version, after, value } = (FORMATS[format] as (record: JsonObject) => JsonObject)(record);
  if (typeof key !== "string" || typeof version !== "string" || !isJsonObject(value)) return undefined;
  return { key, version, value, after: typeof after === "string" ? after : undefined };
}

/** Folders and versions of a sweep. */
export interface SweepOptions {
  readonly values: string;
  readonly drafts: string;
  /** Versions that are known to be in use. */
  readonly inUse: ReadonlySet<string>;
  /** Returns the current version of a key. */
  getVersion(key: string): Promise<string | undefined>;
}

/** Age of an abandoned draft. If its process still runs, the step fails and changes nothing. */
const DRAFT_MS = 3_600_000;

/** Removes files of processes that ended in the middle of a step. Never rejects: the store works without it. */
export async function sweep(options: SweepOptions): Promise<void> {
  try {
    await sweepValues(options);
    await sweepDrafts(options.drafts);
  } catch {}
}

/**
 * Removes values that can never be in use again. The record tells: its value was to replace a version that is gone
 * (versions do not come back), or to create a key by a draft that is gone.
 */
async function sweepValues({ values, drafts, inUse, getVersion }: SweepOptions): Promise<void> {
  for (const name of await listFolder(values)) {
    const version = name.replace(/\.txt$/, "");
    if (inUse.has(version)) continue;
    const file = join(values, name);
    const record = decodeRecord((await readIfExists(file, MAX_STATE_SIZE * 4)) ?? "");
    if (!record) {
      if (await isOld(file)) await unlinkIfExists(file);
      continue;
    }
    // The draft is checked first: once it is gone, it has become the key or never will.
    const isDraft = record.after === undefined && (await ifExists(stat(join(drafts, version)))) !== undefined;
    const present = await getVersion(record.key);
    const isWanted = isDraft || present === version || (present !== undefined && present === record.after);
    if (!isWanted) await unlinkIfExists(file);
  }
}

/** A draft takes effect by being renamed, so a process that finds it gone has changed nothing. */
async function sweepDrafts(drafts: string): Promise<void> {
  for (const name of await listFolder(drafts)) {
    const draft = join(drafts, name);
    if (!(await isOld(draft))) continue;
    // Renamed first: half a draft must not take effect.
    const gone = join(drafts, `${randomUUID()}.old`);
    await ifExists(rename(draft, gone));
    await rm(gone, { recursive: true, force: true });
  }
}

async function isOld(file: string): Promise<boolean> {
  const found = await ifExists(stat(file));
  return found !== undefined && Date.now() - found.mtimeMs > DRAFT_MS;
}
