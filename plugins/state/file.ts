import { join, resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import {
  createBusyError,
  createDamagedError,
  STATE_UNAVAILABLE,
  type StateEntry,
  type StateStore,
} from "../../core/services/state.ts";
import { getErrorCode, listFolder } from "../lib/files.ts";
import { encodeState } from "../lib/memory-store.ts";
import { createGroup, type DamagedRecord, type Group, hashKey, type LoadedRecord } from "./group.ts";
import type { StateRecord } from "./record.ts";

/** More retries mean that something is wrong. */
const MAX_TRIES = 1_000;
/** Number of files that are read in parallel. */
const MAX_PARALLEL = 16;
const SWEEP_MS = 3_600_000;

/**
 * Keeps state in files that several processes share, without a lock that a process could leave behind when it ends.
 * Nothing is written, and no folder is created, before the first key is set.
 *
 *     <folder>/<group>/keys/<hash of key>/<version>   an empty file: its name is the current version of the key
 *     <folder>/<group>/values/<version>.txt           key and value of that version
 *     <folder>/<group>/drafts/                        files that are not in effect yet
 *
 * Why it is safe:
 * - A version is 128 random bits and is never used twice. A value is written and synced before its version can be in
 *   effect, never changes, and is removed only after its version: every value that can be found can be read.
 * - Each change is one system call that the kernel lets one process win. Set if absent: the draft of the key's folder is
 *   renamed to its final name, which fails if a folder with content is there (in that of a deleted key, `deleted` is
 *   renamed to the version). Replace: the file named by the old version
 *   is renamed to the new one. Delete: it is renamed to `deleted`. Both fail if the old version is gone, however long
 *   ago it was read.
 * - So a folder of a key without a version, and a version without its value, are damage. They count as a record that
 *   cannot be read, never as none: a call under that key may have been made.
 * - So a process that ends anywhere, or sleeps for a day, leaves each key as it was before or after its change, and
 *   blocks no other process. Files it leaves besides are found by {@link StateStore.list} and removed.
 */
export function fileStore(folder: string): StateStore {
  const root = resolve(folder);
  const groups = new Map<string, Group>();
  const swept = new Map<string, number>();

  const openGroup = (name: string): Group => {
    const group = groups.get(name) ?? createGroup(join(root, name));
    groups.set(name, group);
    return group;
  };
  const load = (key: string): Promise<LoadedRecord | undefined> => openGroup(toGroup(key)).load(hashKey(key));

  const attempt = async <T>(what: "read" | "written", work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      if (GatewayError.is(cause)) throw cause;
      const reason = getErrorCode(cause) ?? "unknown reason";
      throw new GatewayError(STATE_UNAVAILABLE, `The state in ${root} cannot be ${what} (${reason}).`, {
        cause,
      });
    }
  };

  /** Tries a change on the current record until it takes effect, or once if a version is expected. */
  const change = (
    key: string,
    expected: string | undefined,
    step: (group: Group, current: LoadedRecord | undefined) => Promise<boolean | "nothing to do">,
  ): Promise<boolean> =>
    attempt("written", async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await load(key);
        if (expected !== undefined && current?.version !== expected) return false;
        const done = await step(openGroup(toGroup(key)), current);
        if (done === "nothing to do") return false;
        if (done || expected !== undefined) return done;
      }
      throw createBusyError();
    });

  return {
    get: (key) =>
      attempt("read", async () => {
        const record = await load(key);
        if (record?.isDamaged) throw createDamagedError(record.location);
        return record && toEntry(record);
      }),

    async setIfAbsent(key, value) {
      const text = encodeState(value);
      return attempt("written", async () => {
        // Checked first: a try costs several syncs of the disk.
        if (await load(key)) return false;
        return openGroup(toGroup(key)).create(key, text);
      });
    },

    async replace(key, value, expected) {
      const text = encodeState(value);
      return change(key, expected, (group, current) =>
        current ? group.move(key, current, text) : group.create(key, text),
      );
    },

    delete: (key, expected) =>
      change(key, expected, async (group, current) =>
        current ? group.remove(key, current) : "nothing to do",
      ),

    list: (prefix) =>
      attempt("read", async () => {
        const names = prefix.includes("/") ? [toGroup(prefix)] : (await listFolder(root)).filter(isGroup);
        return (await listGroups(names))
          .filter((record) => record.isDamaged !== true)
          .filter((record) => record.key.startsWith(prefix))
          .map(toEntry)
          .toSorted((a, b) => (a.key < b.key ? -1 : 1));
      }),

    listDamaged: () =>
      attempt("read", async () =>
        (await listGroups((await listFolder(root)).filter(isGroup)))
          .filter((record): record is DamagedRecord => record.isDamaged === true)
          .map(({ location }) => location),
      ),

    close() {},
  };

  async function listGroups(names: readonly string[]): Promise<LoadedRecord[]> {
    const lists: LoadedRecord[][] = [];
    for (const name of names) lists.push(await listGroup(name));
    return lists.flat();
  }

  async function listGroup(name: string): Promise<LoadedRecord[]> {
    const group = openGroup(name);
    const names = await group.names();
    const found: LoadedRecord[] = [];
    for (let start = 0; start < names.length; start += MAX_PARALLEL) {
      const records = await Promise.all(names.slice(start, start + MAX_PARALLEL).map(group.load));
      for (const record of records) if (record) found.push(record);
    }
    if (Date.now() - (swept.get(name) ?? 0) > SWEEP_MS) {
      swept.set(name, Date.now());
      await group.sweep(new Set(found.map((record) => record.version)));
    }
    return found;
  }
}

function toEntry({ key, value, version }: StateRecord): StateEntry {
  return { key, value, version };
}

/** Returns the folder of a key: its group, if that is a valid folder name on every system. */
function toGroup(key: string): string {
  const group = key.slice(0, Math.max(0, key.indexOf("/")));
  return isGroup(group) ? group : "other";
}

function isGroup(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,31}$/.test(name);
}
