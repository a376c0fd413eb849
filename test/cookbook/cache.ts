/**
 * A cache driver: keeps everything in one file, which is written when the gateway closes.
 *
 * { "cache": { "storage": { "type": "./cache.ts", "file": "/var/cache/toolpipe.json" } } }
 */
import { Buffer } from "node:buffer";
import { readFile, rename, writeFile } from "node:fs/promises";
import type { CacheDriver } from "toolpipe/services";

export const cache: CacheDriver = async ({ file }) => {
  const path = String(file);
  const items = new Map<string, Uint8Array>(await read(path));
  let isChanged = false;
  return {
    getItemRaw: async (key) => items.get(key),
    async setItemRaw(key, value) {
      items.set(key, typeof value === "string" ? Buffer.from(value) : Uint8Array.from(value as Uint8Array));
      isChanged = true;
    },
    async removeItem(key) {
      isChanged = items.delete(key) || isChanged;
    },
    getKeys: async () => [...items.keys()],
    async dispose() {
      if (!isChanged) return;
      const entries = [...items].map(([key, bytes]) => [key, Buffer.from(bytes).toString("base64")]);
      // Renamed, so that another process never reads half a file.
      await writeFile(`${path}.${process.pid}`, JSON.stringify(entries), { mode: 0o600 });
      await rename(`${path}.${process.pid}`, path);
    },
  };
};

/** A file that is missing or broken is an empty cache: everything in it can be computed again. */
async function read(path: string): Promise<[string, Uint8Array][]> {
  try {
    const entries = JSON.parse(await readFile(path, "utf8")) as [string, string][];
    return entries.map(([key, text]) => [key, Buffer.from(text, "base64")]);
  } catch {
    return [];
  }
}
