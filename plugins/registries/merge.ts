import type { RegistryEntry } from "../../core/services/registries.ts";
import type { Snapshot } from "./snapshot.ts";

/** Clocks differ, and a change made while a list is read may be in it or not. */
const OVERLAP_MS = 60_000;

/** Merges a list into a snapshot. Entries that a whole list lacks were removed from the registry, and are kept as deleted. */
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
  if (!known || supersedes(entry, known)) entries.set(entry.name, entry);
}

/** Compares two versions. Some registries ignore `version=latest`, so versions come in any order. */
function supersedes(entry: RegistryEntry, known: RegistryEntry): boolean {
  if (entry.version === known.version) return (entry.updatedAt ?? "") >= (known.updatedAt ?? "");
  if (entry.isLatest !== known.isLatest) return entry.isLatest;
  return (entry.publishedAt ?? "") >= (known.publishedAt ?? "");
}

function isSame(a: RegistryEntry, b: RegistryEntry): boolean {
  return a.version === b.version && a.status === b.status && a.updatedAt === b.updatedAt;
}

/**
 * The time that the next sync asks for changes since: the newest change, but not after the sync began, since a change
 * made while the list is read may be missed. So no registry can stop later syncs with a time in the future.
 */
export function nextSince(entries: ReadonlyMap<string, RegistryEntry>, startedAt: number): string {
  let newest = 0;
  for (const { updatedAt } of entries.values()) newest = Math.max(newest, Date.parse(updatedAt ?? "") || 0);
  const latest = newest === 0 ? startedAt : Math.min(newest, startedAt);
  return new Date(Math.max(0, latest - OVERLAP_MS)).toISOString();
}
