import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { pointed } from "../lib/json.ts";

/** What the references of one schema lead to. */
export interface References {
  /** Whether a schema somewhere asks what others have looked at, so that even a word that forbids nothing counts. */
  readonly countsLooks: boolean;
  /** The name of what a reference leads to, `""` for the whole schema; nothing where that is not in this document. */
  nameOf(ref: unknown): string | undefined;
  /** What was named and not taken yet. */
  next(): { readonly name: string; readonly schema: unknown } | undefined;
}

/** More are not searched for names. */
const MAX_NODES = 20_000;
const LOOKS: ReadonlySet<string> = new Set(["unevaluatedProperties", "unevaluatedItems"]);

/** Finds what is named in a schema, and gives what is referred to names of its own. */
export function referencesOf(root: JsonObject, sorted: boolean): References {
  const { anchors, countsLooks } = anchorsIn(root, sorted);
  const base = baseOf(root);
  const names = new Map<unknown, string>();
  const taken = new Set<string>();
  const waiting: { name: string; schema: unknown }[] = [];

  return {
    countsLooks,
    nameOf(ref) {
      const target = typeof ref === "string" ? targetOf(ref) : undefined;
      if (target === root) return "";
      const isSchema = isJsonObject(target) || typeof target === "boolean";
      if (!isSchema) return;
      // One `true` is as good as another, and must not be taken for it.
      const key = typeof target === "boolean" ? ref : target;
      return names.get(key) ?? named(key, target, String(ref));
    },
    next: () => waiting.shift(),
  };

  function targetOf(ref: string): unknown {
    const local = base && ref.startsWith(base) ? `#${ref.slice(base.length).replace(/^#/, "")}` : ref;
    if (local === "" || local === "#") return root;
    return local.startsWith("#/") ? pointed(root, local) : anchors.get(local);
  }

  function named(key: unknown, schema: unknown, ref: string): string {
    const last = ref.slice(Math.max(ref.lastIndexOf("/"), ref.lastIndexOf("#")) + 1);
    // Plain names need no escaping in a reference, and differ in no two ways of writing one.
    const plain = last.slice(0, 80).replace(/[^\w.-]/g, "_") || "schema";
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
    taken.add(name);
    names.set(key, name);
    waiting.push({ name, schema });
    return name;
  }
}

/** The address that a whole schema says it has, if references can begin with it. */
function baseOf({ $id, id }: JsonObject): string | undefined {
  const address = typeof $id === "string" ? $id : id;
  const base = typeof address === "string" ? address.replace(/#$/, "") : "";
  return base === "" ? undefined : base;
}

interface Named {
  /** Schemas by how a reference to them is written. */
  readonly anchors: ReadonlyMap<string, unknown>;
  readonly countsLooks: boolean;
}

function anchorsIn(root: JsonObject, sorted: boolean): Named {
  const anchors = new Map<string, unknown>();
  let countsLooks = false;
  let nodes = 0;
  const open: unknown[] = [root];
  while (open.length > 0 && nodes < MAX_NODES) {
    const node = open.pop();
    if (Array.isArray(node)) for (const item of node) open.push(item);
    if (!isJsonObject(node)) continue;
    nodes++;
    for (const key of keysOf(node, sorted)) {
      const value = node[key];
      if (typeof value === "object") open.push(value);
      const prefix = NAMING.get(key);
      if (prefix !== undefined && typeof value === "string" && value !== "") {
        const anchor = value.startsWith(prefix) ? value : prefix + value;
        if (!anchors.has(anchor)) anchors.set(anchor, node);
      }
      countsLooks ||= LOOKS.has(key);
    }
  }
  return { anchors, countsLooks };
}

/** The words that name a schema, with how a reference to such a name begins. */
const NAMING: ReadonlyMap<string, string> = new Map([
  ["$anchor", "#"],
  ["$dynamicAnchor", "#"],
  ["$id", ""],
  ["id", ""],
]);

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

/** Words of a JSON Schema by what they hold. Whatever is in no list is a note for people, or for some program. */
export type WordKind = "schema" | "schemas" | "named" | "count" | "number" | "text" | "gone";

const KINDS: readonly (readonly [kind: WordKind, words: readonly string[]])[] = [
  [
    "schema",
    [
      ...["additionalProperties", "propertyNames", "unevaluatedProperties", "contains", "unevaluatedItems"],
      ...["not", "if", "then", "else", "contentSchema"],
    ],
  ],
  ["schemas", ["allOf", "anyOf", "oneOf"]],
  ["named", ["properties", "patternProperties", "dependentSchemas"]],
  [
    "count",
    [
      ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"],
      ...["minProperties", "maxProperties"],
    ],
  ],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["text", ["pattern", "format", "contentEncoding", "contentMediaType"]],
  // Where a schema lies and what it is written in: of no use once its references are settled.
  [
    "gone",
    [
      ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs"],
      ...["definitions", "$ref", "$dynamicRef", "$recursiveRef", "nullable", "example", "dependencies"],
      ...["type", "enum", "const", "required", "dependentRequired", "uniqueItems"],
      ...["items", "prefixItems", "additionalItems"],
    ],
  ],
];

/** What each word holds; `gone` are those that are looked at by name, or not at all. */
export const wordKinds: ReadonlyMap<string, WordKind> = new Map(
  KINDS.flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
);

const TYPES: ReadonlySet<string> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "object",
  "array",
]);

/** The types that a `type` names, each once; none where it names none, or any. */
export function namedTypes(type: unknown): string[] {
  if (typeof type === "string" && TYPES.has(type)) return [type];
  const named = [type].flat().filter((each): each is string => typeof each === "string");
  const lower = new Set(named.map((each) => each.toLowerCase()));
  // A whole number is a number.
  if (lower.has("number")) lower.delete("integer");
  return lower.has("any") ? [] : [...lower].filter((each) => TYPES.has(each));
}

/** Whether a dialect is one of those where a reference hides the words beside it. */
export function hidesSiblings(dialect: unknown): boolean {
  return typeof dialect === "string" && /json-schema\.org\/draft-0[3-7]\//.test(dialect);
}
