/**
 * A state driver: keeps all entries in one JSON file, which a lock file guards from other processes of this machine.
 *
 * { "state": { "store": { "type": "./state.ts", "file": "/var/lib/toolpipe.json" } } }
 */
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { GatewayError, type JsonObject } from "toolpipe";
import { decodeState, encodeState } from "toolpipe/plugins/state";
import { STATE_UNAVAILABLE, type StateEntry, type StateStoreDriver } from "toolpipe/services";

/** Entries by key, in order: the version and the value as JSON. */
type Entries = Map<string, readonly [version: string, text: string]>;

export const state: StateStoreDriver = ({ file }) => {
  const path = String(file);
  const lock = `${path}.lock`;

  async function read(): Promise<Entries> {
    const text = await readFile(path, "utf8").catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return "[]";
      throw new GatewayError(STATE_UNAVAILABLE, `${path} cannot be read (${thrown.code}).`, {
        cause: thrown,
      });
    });
    return new Map(JSON.parse(text) as [string, [string, string]][]);
  }

  /** Hands the entries to `apply` and writes them if it returns true. */
  async function change(apply: (entries: Entries) => boolean): Promise<boolean> {
    await takeLock(lock);
    try {
      const entries = await read();
      if (!apply(entries)) return false;
      // Renamed, so that `read` never sees half a file.
      await writeFile(`${path}.new`, JSON.stringify([...entries]), { mode: 0o600 });
      await rename(`${path}.new`, path);
      return true;
    } finally {
      await rm(lock, { force: true });
    }
  }

  const toEntry = (key: string, [version, text]: readonly [string, string]): StateEntry => ({
    key,
    version,
    value: decodeState(text) as JsonObject,
  });
  const fits = (entries: Entries, key: string, expected?: string): boolean =>
    expected === undefined || entries.get(key)?.[0] === expected;

  return {
    async get(key) {
      const found = (await read()).get(key);
      return found && toEntry(key, found);
    },
    async setIfAbsent(key, value) {
      const text = encodeState(value);
      return change((entries) => !entries.has(key) && Boolean(entries.set(key, [randomUUID(), text])));
    },
    async replace(key, value, expected) {
      const text = encodeState(value);
      return change(
        (entries) => fits(entries, key, expected) && Boolean(entries.set(key, [randomUUID(), text])),
      );
    },
    delete: (key, expected) => change((entries) => fits(entries, key, expected) && entries.delete(key)),
    async list(prefix) {
      const found = [...(await read())].filter(([key]) => key.startsWith(prefix));
      return found.map(([key, kept]) => toEntry(key, kept)).sort((a, b) => (a.key < b.key ? -1 : 1));
    },
    close() {},
  };
};

/** Waits for other processes. The lock of one that was killed has to be removed by hand. */
async function takeLock(lock: string): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    try {
      return await writeFile(lock, String(process.pid), { flag: "wx" });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") break;
      await sleep(5);
    }
  }
  throw new GatewayError(
    STATE_UNAVAILABLE,
    `${lock} cannot be created, or another process holds it for 5 s.`,
  );
}
