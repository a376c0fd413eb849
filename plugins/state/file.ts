import { join, resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import { STATE_UNAVAILABLE, type StateEntry, type StateStore, tooBusy } from "../../core/services/state.ts";
import { codeOf, namesIn } from "../lib/files.ts";
import { encodeState } from "../lib/memory-store.ts";
import { createGroup, type Group, nameOf } from "./group.ts";
import type { StateRecord } from "./record.ts";

/** As many as may get in between before something must be wrong. */
const MAX_TRIES = 1_000;
/** Files that are read at the same time. */
const AT_ONCE = 16;
const SWEEP_MS = 3_600_000;

/**
 * Keeps state in files that several processes share, without a lock that one of them could take to its grave.
 * Nothing is written, and no folder made, before the first key is set.
 *
 *     <folder>/<group>/keys/<hash of key>/<version>   an empty file: its name is the version the key has now
 *     <folder>/<group>/values/<version>.txt           key and value of that version
 *     <folder>/<group>/drafts/                        what is not in effect yet
 *     <folder>/<group>/aside/                         what could not be read
 *
 * Why it is safe:
 * - A version is 128 random bits and is never used twice. A value is written and synced before its version can
 *   be in effect, never changes, and is removed only after its version: what can be found can be read.
 * - Each change is one system call that the kernel lets one process win. Set if absent: the draft of a key's
 *   folder is renamed to its place, which fails where there is a folder with something in it. Replace: the file
 *   named by the old version is renamed to the new one. Delete: it is unlinked. Those two fail where the old
 *   version is no longer there, however long ago it was read.
 * - So a process that ends anywhere, or sleeps for a day, leaves each key as it was before or after its change,
 *   and blocks nobody. What it leaves besides is found by {@link StateStore.list} and removed.
 */
export function fileStore(folder: string): StateStore {
  const root = resolve(folder);
  const groups = new Map<string, Group>();
  const swept = new Map<string, number>();

  const groupCalled = (name: string): Group => {
    const group = groups.get(name) ?? createGroup(join(root, name));
    groups.set(name, group);
    return group;
  };
  const load = (key: string): Promise<StateRecord | undefined> => groupCalled(groupOf(key)).load(nameOf(key));

  const attempt = async <T>(what: "read" | "written", work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      if (GatewayError.is(cause)) throw cause;
      const reason = codeOf(cause) ?? "for a reason unknown";
      throw new GatewayError(STATE_UNAVAILABLE, `The state in ${root} cannot be ${what} (${reason}).`, {
        cause,
      });
    }
  };

  /** Tries a change on what is there until it takes effect, or once if a version is expected. */
  const change = (
    key: string,
    expected: string | undefined,
    step: (group: Group, current: StateRecord | undefined) => Promise<boolean | "nothing to do">,
  ): Promise<boolean> =>
    attempt("written", async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const current = await load(key);
        if (expected !== undefined && current?.version !== expected) return false;
        const done = await step(groupCalled(groupOf(key)), current);
        if (done === "nothing to do") return false;
        if (done || expected !== undefined) return done;
      }
      throw tooBusy();
    });

  return {
    get: (key) =>
      attempt("read", async () => {
        const record = await load(key);
        return record && entryOf(record);
      }),

    async setIfAbsent(key, value) {
      const text = encodeState(value);
      return attempt("written", async () => {
        // Asked first, because a try costs several syncs of the disk.
        if (await load(key)) return false;
        return groupCalled(groupOf(key)).create(key, text);
      });
    },

    async replace(key, value, expected) {
      const text = encodeState(value);
      return change(key, expected, (group, current) =>
        current ? group.move(current, text) : group.create(key, text),
      );
    },

    delete: (key, expected) =>
      change(key, expected, async (group, current) => (current ? group.remove(current) : "nothing to do")),

    list: (prefix) =>
      attempt("read", async () => {
        const names = prefix.includes("/") ? [groupOf(prefix)] : (await namesIn(root)).filter(isGroup);
        const lists: StateRecord[][] = [];
        for (const name of names) lists.push(await listGroup(name));
        return lists
          .flat()
          .filter((record) => record.key.startsWith(prefix))
          .map(entryOf)
          .toSorted((a, b) => (a.key < b.key ? -1 : 1));
      }),

    close() {},
  };

  async function listGroup(name: string): Promise<StateRecord[]> {
    const group = groupCalled(name);
    const names = await group.names();
    const found: StateRecord[] = [];
    for (let start = 0; start < names.length; start += AT_ONCE) {
      const records = await Promise.all(names.slice(start, start + AT_ONCE).map(group.load));
      for (const record of records) if (record) found.push(record);
    }
    if (Date.now() - (swept.get(name) ?? 0) > SWEEP_MS) {
      swept.set(name, Date.now());
      await group.sweep(new Set(found.map((record) => record.version)));
    }
    return found;
  }
}

function entryOf({ key, value, version }: StateRecord): StateEntry {
  return { key, value, version };
}

/** The folder of a key: its group, where that can be the name of a folder on every system. */
function groupOf(key: string): string {
  const group = key.slice(0, Math.max(0, key.indexOf("/")));
  return isGroup(group) ? group : "other";
}

function isGroup(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,31}$/.test(name);
}
