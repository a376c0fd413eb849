import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ifThere } from "../state/_files.ts";
import type { CacheStorage } from "./cache.ts";

const DRAFT = ".draft";
const HOUR_MS = 3_600_000;

/**
 * A file for each key, as unstorage has them, which takes 5 ms of every start to load. A reader sees an old file or a new
 * one, and never half of one.
 */
export function fileStorage(folder: string): CacheStorage {
  const base = resolve(folder);
  let swept = false;
  return {
    getItemRaw: (name) => ifThere(readFile(join(base, name))),
    async setItemRaw(name, value) {
      const draft = join(base, `${name}.${randomUUID()}${DRAFT}`);
      await mkdir(base, { recursive: true, mode: 0o700 });
      try {
        // What servers offer a person is nobody else's business.
        await writeFile(draft, value as string | Uint8Array, { mode: 0o600 });
        await rename(draft, join(base, name));
      } catch (thrown) {
        await rm(draft, { force: true });
        throw thrown;
      }
      if (!swept) await sweep(base);
      swept = true;
    },
    removeItem: (name) => rm(join(base, name), { force: true }),
    async getKeys() {
      const entries = (await ifThere(readdir(base, { withFileTypes: true }))) ?? [];
      return entries.flatMap((entry) => (entry.isFile() ? entry.name : []));
    },
  };
}

/** Removes what processes left that were killed while they wrote. */
async function sweep(base: string): Promise<void> {
  for (const name of (await readdir(base)).filter((each) => each.endsWith(DRAFT))) {
    const file = join(base, name);
    const written = await stat(file).catch(() => undefined);
    if (written && Date.now() - written.mtimeMs > HOUR_MS) await rm(file, { force: true });
  }
}
