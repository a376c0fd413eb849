import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";
import { sha256Hex } from "../lib/hash.ts";

/** Names of servers, each with its enabled tools. */
export type KnownNames = Readonly<Record<string, readonly string[]>>;

/**
 * Stores the names that a shell completes, for a config file or for a folder without one. They are separate from the
 * catalog cache, so that a completion neither reads a config nor applies rules.
 */
export async function writeNames(owner: string, names: KnownNames): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(names));
  // A failure is ignored: nothing depends on completions.
  await replaceFile(getFile(owner), { bytes, mode: 0o600 }).catch(() => {});
}

/** Reads the stored names; undefined if there are none, or if the config has changed since. */
export async function readNames(owner: string): Promise<KnownNames | undefined> {
  const file = getFile(owner);
  try {
    const [names, config] = await Promise.all([stat(file), stat(owner)]);
    // The time of a folder changes with every file in it, which says nothing about servers.
    if (config.isFile() && config.mtimeMs > names.mtimeMs) return;
    return JSON.parse(await readFile(file, "utf8")) as KnownNames;
  } catch {
    return;
  }
}

function getFile(owner: string): string {
  return join(cacheFolder(), `toolpipe-names-${sha256Hex(owner).slice(0, 16)}.json`);
}
