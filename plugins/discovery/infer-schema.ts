import { isJsonObject, type JsonObject } from "../../core/mod.ts";

/** Limits: deeper levels and further keys or elements are ignored. */
const MAX_DEPTH = 16;
const MAX_KEYS = 100;
const MAX_ELEMENTS = 1_000;

type Kind = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object";

/** Common shape of some values. */
interface Shape {
  readonly kinds: Set<Kind>;
  /** Number of objects among them, and the shapes of their keys. */
  objects: number;
  readonly keys: Map<string, { times: number; readonly shape: Shape }>;
  /** Shape of the elements of lists. */
  items: Shape | undefined;
  /** Some had so many keys that those are data, and no names. */
  isMap: boolean;
}

/**
 * A JSON Schema that a value fits, and others like it: the elements of a list are taken together, and a key that
 * some of them lack is optional.
 */
export function inferSchema(value: unknown): JsonObject {
  const shape = emptyShape();
  look(shape, value, 0);
  return toSchema(shape);
}

function emptyShape(): Shape {
  return { kinds: new Set(), objects: 0, keys: new Map(), items: undefined, isMap: false };
}

function look(shape: Shape, value: unknown, depth: number): void {
  const kind = toKind(value);
  if (kind === undefined) return;
  shape.kinds.add(kind);
  if (depth >= MAX_DEPTH) return;
  if (Array.isArray(value)) {
    shape.items ??= emptyShape();
    for (const element of value.slice(0, MAX_ELEMENTS)) look(shape.items, element, depth + 1);
  } else if (isJsonObject(value)) {
    shape.objects++;
    const entries = Object.entries(value);
    if (entries.length > MAX_KEYS) shape.isMap = true;
    for (const [key, inner] of entries.slice(0, MAX_KEYS)) {
      const known = shape.keys.get(key) ?? { times: 0, shape: emptyShape() };
      known.times++;
      shape.keys.set(key, known);
      look(known.shape, inner, depth + 1);
    }
    if (shape.keys.size > MAX_KEYS) shape.isMap = true;
  }
}

function toKind(value: unknown): Kind | undefined {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  if (typeof value === "string" || typeof value === "boolean") return typeof value as "string" | "boolean";
  return typeof value === "object" ? "object" : undefined;
}

const ORDER: readonly Kind[] = ["object", "array", "string", "integer", "number", "boolean", "null"];

function toSchema({ kinds, objects, keys, items, isMap }: Shape): JsonObject {
  // Every integer is a number.
  const types = ORDER.filter((kind) => kinds.has(kind) && !(kind === "integer" && kinds.has("number")));
  if (types.length === 0) return {};
  const element = items && toSchema(items);
  return {
    type: types.length === 1 ? types[0] : types,
    ...(kinds.has("object") && !isMap && objects > 0 && toProperties(keys, objects)),
    ...(element && Object.keys(element).length > 0 && { items: element }),
  };
}

function toProperties(keys: Shape["keys"], objects: number): JsonObject {
  if (keys.size === 0) return {};
  const required = [...keys].filter(([, { times }]) => times === objects).map(([key]) => key);
  return {
    properties: Object.fromEntries([...keys].map(([key, { shape }]) => [key, toSchema(shape)])),
    ...(required.length > 0 && { required }),
  };
}
