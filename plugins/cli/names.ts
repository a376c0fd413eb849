import { createHash, randomUUID } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";

/** The names of servers, each with those of its tools that may be called. */
export type Names = Readonly<Record<string, readonly string[]>>;

/**
 * Keeps the names that a shell completes, of a config or of a folder without one. They are kept apart from what
 * else is remembered: whoever presses a key must not wait for a config to be read and for rules to be applied.
 */
export async function writeNames(owner: string, names: Names): Promise<void> {
  const file = fileOf(owner);
  const draft = `${file}.${randomUUID()}.draft`;
  try {
    await makeFolder(cacheFolder());
    await writeFile(draft, JSON.stringify(names), { mode: 0o600 });
    await rename(draft, file);
  } catch {
    // Nothing depends on it.
  }
}

/** The names that were kept; nothing where there are none, or where the config has changed since. */
export async function readNames(owner: string): Promise<Names | undefined> {
  const file = fileOf(owner);
  try {
    const [names, config] = await Promise.all([stat(file), stat(owner)]);
    // A folder changes with every file that is put there, which says nothing about servers.
    if (config.isFile() && config.mtimeMs > names.mtimeMs) return;
    return JSON.parse(await readFile(file, "utf8")) as Names;
  } catch {
    return;
  }
}

function fileOf(owner: string): string {
  const hash = createHash("sha256").update(owner).digest("hex").slice(0, 16);
  return join(cacheFolder(), `toolpipe-names-${hash}.json`);
}
