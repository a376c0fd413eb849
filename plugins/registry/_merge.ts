import type { Snapshot } from "./_snapshot.ts";
import type { RegistryEntry } from "./entry.ts";

/** Clocks differ, and what is written while a list is read may be in it or not. */
const OVERLAP_MS = 60_000;

/** What a whole list does not name any more was taken out of the registry, and is kept as deleted. */
export function merge(
  base: Snapshot | undefined,
  before: Snapshot | undefined,
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
    // What a registry calls the latest now is that, also where a later one was taken back.
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

/** Keeps an entry, unless a later one of its server is known. */
export function keepLatest(entries: Map<string, RegistryEntry>, entry: RegistryEntry): void {
  const known = entries.get(entry.name);
  if (!known || supersedes(entry, known)) entries.set(entry.name, entry);
}

/** Not every registry heeds `version=latest`, so any version of a server may come in any order. */
function supersedes(entry: RegistryEntry, known: RegistryEntry): boolean {
  if (entry.version === known.version) return (entry.updatedAt ?? "") >= (known.updatedAt ?? "");
  if (entry.isLatest !== known.isLatest) return entry.isLatest;
  return (entry.publishedAt ?? "") >= (known.publishedAt ?? "");
}

function isSame(a: RegistryEntry, b: RegistryEntry): boolean {
  return a.version === b.version && a.status === b.status && a.updatedAt === b.updatedAt;
}

/**
 * The newest change that is known, but none after the sync was begun: what changes while a list is read may have been
 * passed already. So no registry can keep us from ever asking again with a time in the future either.
 */
export function nextSince(entries: ReadonlyMap<string, RegistryEntry>, startedAt: number): string {
  let newest = 0;
  for (const { updatedAt } of entries.values()) newest = Math.max(newest, Date.parse(updatedAt ?? "") || 0);
  const latest = newest === 0 ? startedAt : Math.min(newest, startedAt);
  return new Date(Math.max(0, latest - OVERLAP_MS)).toISOString();
}
