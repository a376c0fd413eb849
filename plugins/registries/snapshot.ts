import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { ifExists, replaceFile } from "../lib/files.ts";
import { sha256Hex } from "../lib/hash.ts";
import { parseJsonObject } from "../lib/json.ts";
import { readEntry, writeEntry } from "./entry.ts";

/** Copy of one registry: one entry a server. */
export interface MirrorSnapshot {
  readonly registry: string;
  readonly entries: ReadonlyMap<string, RegistryEntry>;
  /** The time that the next sync asks for changes since; undefined if it has to read everything. */
  readonly since: string | undefined;
  /** When it was written. */
  readonly syncedAt: number;
}

const FORMAT = "toolpipe-registry-1";

/** Derives the file name of a registry. */
export function toFileName(registry: string): string {
  const words = registry.replace(/^https?:\/\//, "").replace(/[^a-zA-Z0-9]+/g, "-");
  return `${words.slice(0, 40)}-${sha256Hex(registry).slice(0, 12)}`;
}

/** Reads the snapshot of a registry; undefined if none is readable. */
export async function readMirrorSnapshot(
  folder: string,
  registry: string,
): Promise<MirrorSnapshot | undefined> {
  const text = await ifExists(readFile(toPath(folder, registry), "utf8"));
  return text === undefined ? undefined : parseMirrorSnapshot(text, registry);
}

/** Parses a snapshot; undefined if it is none of this registry. */
export function parseMirrorSnapshot(text: string, registry: string): MirrorSnapshot | undefined {
  const [first = "", ...lines] = text.split("\n");
  const header = parseJsonObject(first);
  if (header?.["format"] !== FORMAT || header["registry"] !== registry) return undefined;
  const entries = new Map<string, RegistryEntry>();
  for (const line of lines) {
    // A damaged line does not affect the others.
    const entry = readEntry(parseJsonObject(line), registry);
    if (entry) entries.set(entry.name, entry);
  }
  const { since, syncedAt, count } = header;
  // A gap would never be filled by asking for changes only.
  const isWhole = count === entries.size;
  return {
    registry,
    entries,
    since: isWhole && typeof since === "string" ? since : undefined,
    syncedAt: Number(syncedAt) || 0,
  };
}

/** Replaces the snapshot of a registry, and returns its content. */
export async function writeMirrorSnapshot(folder: string, snapshot: MirrorSnapshot): Promise<string> {
  const { registry, entries, since, syncedAt } = snapshot;
  const header = { format: FORMAT, registry, since, syncedAt, count: entries.size };
  const lines = [...entries.values()].map((entry) => `${JSON.stringify(writeEntry(entry))}\n`);
  const text = [`${JSON.stringify(header)}\n`, ...lines].join("");
  await replaceFile(toPath(folder, registry), { bytes: Buffer.from(text), mode: 0o600 });
  return text;
}

function toPath(folder: string, registry: string): string {
  return join(folder, `${toFileName(registry)}.jsonl`);
}

/** Clocks differ, and a change made while a list is read may be in it or not. */
const OVERLAP_MS = 60_000;

/** Merges a list into a snapshot. Entries that a whole list lacks were removed from the registry, and are kept as deleted. */
export function mergeEntries(
  base: MirrorSnapshot | undefined,
  before: MirrorSnapshot | undefined,
  found: ReadonlyMap<string, RegistryEntry>,
  isWhole: boolean,
): { entries: ReadonlyMap<string, RegistryEntry>; added: number; changed: number } {
  const entries = new Map(base?.entries);
  let added = 0;
  let changed = 0;
  for (const [name, entry] of found) {
    const old = before?.entries.get(name);
    if (!old) added++;
    else if (!isSame(old, entry)) changed++;
    // The registry decides which version is the latest, also after a later one was withdrawn.
    if (entry.isLatest) entries.set(name, entry);
    else keepLatest(entries, entry);
  }
  for (const [name, entry] of before?.entries ?? []) {
    if (entries.has(name)) continue;
    if (isWhole && entry.status !== "deleted") changed++;
    entries.set(name, isWhole ? { ...entry, status: "deleted" } : entry);
  }
  return { entries, added, changed };
}

/** Sets an entry, unless a later one of its server is there. */
export function keepLatest(entries: Map<string, RegistryEntry>, entry: RegistryEntry): void {
  const known = entries.get(entry.name);
  if (!known || isNewer(entry, known)) entries.set(entry.name, entry);
}

/** Compares two versions. Some registries ignore `version=latest`, so versions come in any order. */
function isNewer(entry: RegistryEntry, known: RegistryEntry): boolean {
  if (entry.version === known.version) return (entry.updatedAt ?? "") >= (known.updatedAt ?? "");
  if (entry.isLatest !== known.isLatest) return entry.isLatest;
  return (entry.publishedAt ?? "") >= (known.publishedAt ?? "");
}

function isSame(a: RegistryEntry, b: RegistryEntry): boolean {
  return a.version === b.version && a.status === b.status && a.updatedAt === b.updatedAt;
}

/**
 * Returns the time that the next sync asks for changes since: the newest change, but not after the sync began, since a change
 * made while the list is read may be missed. So no registry can stop later syncs with a time in the future.
 */
export function nextSyncTime(entries: ReadonlyMap<string, RegistryEntry>, startedAt: number): string {
  let newest = 0;
  for (const { updatedAt } of entries.values()) newest = Math.max(newest, Date.parse(updatedAt ?? "") || 0);
  const latest = newest === 0 ? startedAt : Math.min(newest, startedAt);
  return new Date(Math.max(0, latest - OVERLAP_MS)).toISOString();
}
