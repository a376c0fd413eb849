import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../core/mod.ts";
import { decode, encode } from "./_value.ts";
import type { StateEntry, StateStore } from "./store.ts";

/** Keeps state in memory: gone with the process, and seen by no other. */
export function memoryStore(): StateStore {
  // As text, so that nobody can change a value that was kept, or one that was given out.
  const kept = new Map<string, { readonly text: string; readonly version: string }>();

  const put = (key: string, text: string): boolean => {
    kept.set(key, { text, version: randomUUID() });
    return true;
  };
  const entryOf = (key: string): StateEntry | undefined => {
    const found = kept.get(key);
    return found && { key, value: decode(found.text) as JsonObject, version: found.version };
  };
  const isOther = (key: string, expected: string | undefined): boolean =>
    expected !== undefined && kept.get(key)?.version !== expected;

  return {
    volatile: true,
    get: async (key) => entryOf(key),
    async setIfAbsent(key, value) {
      const text = encode(value);
      return !kept.has(key) && put(key, text);
    },
    async replace(key, value, expected) {
      const text = encode(value);
      return !isOther(key, expected) && put(key, text);
    },
    delete: async (key, expected) => !isOther(key, expected) && kept.delete(key),
    list: async (prefix) =>
      [...kept.keys()]
        .filter((key) => key.startsWith(prefix))
        .toSorted()
        .map((key) => entryOf(key) as StateEntry),
    close() {},
  };
}
