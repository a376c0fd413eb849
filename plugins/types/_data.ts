import { isJsonObject, type JsonObject } from "../../core/mod.ts";

/** Deeper, or more of them, are no examples and defaults but a burden. */
const MAX_DEPTH = 64;
const MAX_CONTAINERS = 10_000;

/** Copies the data in schemas: defaults, examples, the values of an enum. */
export type DataCopy = (value: unknown) => unknown;

/** Makes a copier. What JSON cannot hold, or is too much for all copies together, becomes `null`. */
export function dataCopy(sorted: boolean): DataCopy {
  let left = MAX_CONTAINERS;
  return (value) => copy(value, 0);

  function copy(value: unknown, depth: number): unknown {
    if (typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : null;
    const isList = Array.isArray(value);
    if ((!isList && !isJsonObject(value)) || depth >= MAX_DEPTH || left <= 0) return null;
    left--;
    if (isList) return value.map((item) => copy(item, depth + 1));
    const result: JsonObject = {};
    for (const key of keysOf(value, sorted)) put(result, key, copy(value[key], depth + 1));
    return result;
  }
}

/** The keys of an object as they stand, or sorted by their characters. */
export function keysOf(value: object, sorted: boolean): string[] {
  const keys = Object.keys(value);
  return sorted ? keys.sort() : keys;
}

/** Sets a property of any name. */
export function put(target: JsonObject, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Each of some values once. */
export function distinct(values: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  const textOf = dataCopy(true);
  return values.filter((value) => {
    const text = JSON.stringify(textOf(value));
    return !seen.has(text) && seen.add(text);
  });
}
