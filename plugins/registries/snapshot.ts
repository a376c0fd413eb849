import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { ifThere, replaceFile } from "../lib/files.ts";
import { readEntry, writeEntry } from "./entry.ts";

/** Copy of one registry: one entry a server. */
export interface Snapshot {
  readonly registry: string;
  readonly entries: ReadonlyMap<string, RegistryEntry>;
  /** The time that the next sync asks for changes since; nothing where it has to read everything. */
  readonly since: string | undefined;
  /** When it was written. */
  readonly syncedAt: number;
}

const FORMAT = "toolpipe-registry-1";

/** Derives the file name of a registry. */
export function idOf(registry: string): string {
  const words = registry.replace(/^https?:\/\//, "").replace(/[^a-zA-Z0-9]+/g, "-");
  return `${words.slice(0, 40)}-${createHash("sha256").update(registry).digest("hex").slice(0, 12)}`;
}

/** Reads the snapshot of a registry; nothing where none is readable. */
export async function readSnapshot(folder: string, registry: string): Promise<Snapshot | undefined> {
  const text = await ifThere(readFile(fileOf(folder, registry), "utf8"));
  return text === undefined ? undefined : parseSnapshot(text, registry);
}

/** Parses a snapshot; nothing where it is none of this registry. */
export function parseSnapshot(text: string, registry: string): Snapshot | undefined {
  const [first = "", ...lines] = text.split("\n");
  const header = parseLine(first);
  if (header?.["format"] !== FORMAT || header["registry"] !== registry) return undefined;
  const entries = new Map<string, RegistryEntry>();
  for (const line of lines) {
    // A damaged line does not affect the others.
    const entry = readEntry(parseLine(line), registry);
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

/** Replaces the snapshot of a registry, and returns its text. */
export async function writeSnapshot(folder: string, snapshot: Snapshot): Promise<string> {
  const { registry, entries, since, syncedAt } = snapshot;
  const header = { format: FORMAT, registry, since, syncedAt, count: entries.size };
  const lines = [...entries.values()].map((entry) => `${JSON.stringify(writeEntry(entry))}\n`);
  const text = [`${JSON.stringify(header)}\n`, ...lines].join("");
  await replaceFile(fileOf(folder, registry), { bytes: Buffer.from(text), mode: 0o600 });
  return text;
}

/** Parses a line of JSON; nothing where it is no object. */
function parseLine(line: string): JsonObject | undefined {
  if (line === "") return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function fileOf(folder: string, registry: string): string {
  return join(folder, `${idOf(registry)}.jsonl`);
}
