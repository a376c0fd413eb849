import { randomUUID } from "node:crypto";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { STATE_VALUE_INVALID, type StateEntry, type StateStore } from "../../core/services/state.ts";
import { createJsonScan, reachesPrototype } from "./json.ts";

/** Longest value in characters of JSON: more belongs into a file of its own. */
export const MAX_STATE_SIZE = 16_000_000;

/** Deepest value. Some engines write values that they cannot read again, which would be lost. */
const MAX_DEPTH = 200;

/** Serializes a value for a state store. Throws `STATE_VALUE_INVALID` if it is no JSON object, or too large or too deep. */
export function encodeState(value: JsonObject): string {
  const invalid = (reason: string, cause?: unknown): GatewayError =>
    new GatewayError(STATE_VALUE_INVALID, `The value cannot be kept: ${reason}.`, { cause });
  if (!isJsonObject(value)) throw invalid("it is not a JSON object");
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw invalid("it is nested too deeply, refers to itself, or holds what JSON cannot", cause);
  }
  if (text.length > MAX_STATE_SIZE) throw invalid(`it is larger than ${MAX_STATE_SIZE} characters`);
  // A value could refer to itself, so the depth is that of its JSON.
  const scan = createJsonScan(MAX_DEPTH);
  scan.feed(Buffer.from(text));
  if (scan.tooDeep) throw invalid(`it is nested deeper than ${MAX_DEPTH} levels`);
  return text;
}

/** Parses a stored value. Drops keys that reach a prototype: copying the value would set one. Throws what `JSON.parse` throws. */
export function decodeState(text: string): unknown {
  return JSON.parse(text, function (this: unknown, key: string, value: unknown) {
    if (key === "__proto__") return undefined;
    return key === "constructor" && reachesPrototype(value) ? undefined : value;
  });
}

/** Keeps state in memory: gone with the process, and seen by no other. */
export function memoryStore(): StateStore {
  // Kept as strings, so that no caller can change a stored value.
  const kept = new Map<string, { readonly text: string; readonly version: string }>();

  const put = (key: string, text: string): boolean => {
    kept.set(key, { text, version: randomUUID() });
    return true;
  };
  const getEntry = (key: string): StateEntry | undefined => {
    const found = kept.get(key);
    return found && { key, value: decodeState(found.text) as JsonObject, version: found.version };
  };
  const isOther = (key: string, expected: string | undefined): boolean =>
    expected !== undefined && kept.get(key)?.version !== expected;

  return {
    volatile: true,
    get: async (key) => getEntry(key),
    async setIfAbsent(key, value) {
      const text = encodeState(value);
      return !kept.has(key) && put(key, text);
    },
    async replace(key, value, expected) {
      const text = encodeState(value);
      return !isOther(key, expected) && put(key, text);
    },
    delete: async (key, expected) => !isOther(key, expected) && kept.delete(key),
    list: async (prefix) =>
      [...kept.keys()]
        .filter((key) => key.startsWith(prefix))
        .toSorted()
        .map((key) => getEntry(key) as StateEntry),
    close() {},
  };
}
