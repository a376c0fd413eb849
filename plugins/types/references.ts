import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { resolvePointer } from "../lib/json.ts";

/** References of one schema. */
export interface References {
  /** Whether `unevaluatedProperties` or `unevaluatedItems` occurs: then keywords without a limit matter too. */
  readonly tracksEvaluated: boolean;
  /** Returns the name of a reference's target, `""` for the root; undefined if it is not in this document. */
  resolveName(ref: unknown): string | undefined;
  /** Returns the next target that was named. */
  next(): { readonly name: string; readonly schema: unknown } | undefined;
}

/** Limit of the search for anchors. */
const MAX_NODES = 20_000;
const EVALUATED_KEYWORDS: ReadonlySet<string> = new Set(["unevaluatedProperties", "unevaluatedItems"]);

/** Collects the anchors of a schema, and names the targets of its references. */
export function collectReferences(root: JsonObject, sorted: boolean): References {
  const { anchors, tracksEvaluated } = findAnchors(root, sorted);
  const base = findBase(root);
  const names = new Map<unknown, string>();
  const taken = new Set<string>();
  const waiting: { name: string; schema: unknown }[] = [];

  return {
    tracksEvaluated,
    resolveName(ref) {
      const target = typeof ref === "string" ? findTarget(ref) : undefined;
      if (target === root) return "";
      const isSchema = isJsonObject(target) || typeof target === "boolean";
      if (!isSchema) return;
      // Boolean schemas have no identity: each is named by its reference.
      const key = typeof target === "boolean" ? ref : target;
      return names.get(key) ?? named(key, target, String(ref));
    },
    next: () => waiting.shift(),
  };

  function findTarget(ref: string): unknown {
    const local = base && ref.startsWith(base) ? `#${ref.slice(base.length).replace(/^#/, "")}` : ref;
    if (local === "" || local === "#") return root;
    return local.startsWith("#/") ? resolvePointer(root, local) : anchors.get(local);
  }

  function named(key: unknown, schema: unknown, ref: string): string {
    const last = ref.slice(Math.max(ref.lastIndexOf("/"), ref.lastIndexOf("#")) + 1);
    // Plain names need no escaping in a reference.
    const plain = last.slice(0, 80).replace(/[^\w.-]/g, "_") || "schema";
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
    taken.add(name);
    names.set(key, name);
    waiting.push({ name, schema });
    return name;
  }
}

/** Finds the URL of the root schema, which references may begin with. */
function findBase({ $id, id }: JsonObject): string | undefined {
  const address = typeof $id === "string" ? $id : id;
  const base = typeof address === "string" ? address.replace(/#$/, "") : "";
  return base === "" ? undefined : base;
}

interface Named {
  /** Schemas by the reference to them. */
  readonly anchors: ReadonlyMap<string, unknown>;
  readonly tracksEvaluated: boolean;
}

function findAnchors(root: JsonObject, sorted: boolean): Named {
  const anchors = new Map<string, unknown>();
  let tracksEvaluated = false;
  let nodes = 0;
  const open: unknown[] = [root];
  while (open.length > 0 && nodes < MAX_NODES) {
    const node = open.pop();
    if (Array.isArray(node)) for (const item of node) open.push(item);
    if (!isJsonObject(node)) continue;
    nodes++;
    for (const key of listKeys(node, sorted)) {
      const value = node[key];
      if (typeof value === "object") open.push(value);
      const prefix = NAMING.get(key);
      if (prefix !== undefined && typeof value === "string" && value !== "") {
        const anchor = value.startsWith(prefix) ? value : prefix + value;
        if (!anchors.has(anchor)) anchors.set(anchor, node);
      }
      tracksEvaluated ||= EVALUATED_KEYWORDS.has(key);
    }
  }
  return { anchors, tracksEvaluated };
}

/** Keywords that name a schema, with the prefix of references to the name. */
const NAMING: ReadonlyMap<string, string> = new Map([
  ["$anchor", "#"],
  ["$dynamicAnchor", "#"],
  ["$id", ""],
  ["id", ""],
]);

/** Limits of copied examples and defaults. */
const MAX_DEPTH = 64;
const MAX_CONTAINERS = 10_000;

/** Copies the data in schemas: defaults, examples, the values of an enum. */
export type DataCopier = (value: unknown) => unknown;

/** Creates a copier. Values that JSON cannot hold, or that exceed the limits, become `null`. */
export function createDataCopier(sorted: boolean): DataCopier {
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
    for (const key of listKeys(value, sorted)) setProperty(result, key, copy(value[key], depth + 1));
    return result;
  }
}

/** Lists the keys of an object in their order, or sorted. */
export function listKeys(value: object, sorted: boolean): string[] {
  const keys = Object.keys(value);
  return sorted ? keys.sort() : keys;
}

/** Sets a property of any name, `__proto__` too. */
export function setProperty(target: JsonObject, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Removes duplicate values. */
export function distinct(values: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  const copyData = createDataCopier(true);
  return values.filter((value) => {
    const text = JSON.stringify(copyData(value));
    return !seen.has(text) && seen.add(text);
  });
}

/** Kind of a keyword's value. A keyword without a kind is an annotation. */
type KeywordKind = "schema" | "schemas" | "named" | "count" | "number" | "text" | "gone";

const KINDS: readonly (readonly [kind: KeywordKind, words: readonly string[]])[] = [
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
  // Keywords that are handled by name, or are meaningless once references are resolved.
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

/** Kinds of keywords; `gone` ones are handled by name, or not at all. */
export const keywordKinds: ReadonlyMap<string, KeywordKind> = new Map(
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

/** Reads the distinct types of a `type`; none if it is unusable, or allows any. */
export function listTypes(type: unknown): string[] {
  if (typeof type === "string" && TYPES.has(type)) return [type];
  const named = [type].flat().filter((each): each is string => typeof each === "string");
  const lower = new Set(named.map((each) => each.toLowerCase()));
  // Every integer is a number.
  if (lower.has("number")) lower.delete("integer");
  return lower.has("any") ? [] : [...lower].filter((each) => TYPES.has(each));
}

/** Whether a reference hides the keywords beside it in this dialect. */
export function hidesSiblings(dialect: unknown): boolean {
  return typeof dialect === "string" && /json-schema\.org\/draft-0[3-7]\//.test(dialect);
}
