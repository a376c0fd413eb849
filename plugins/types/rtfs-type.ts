import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  allowsNothing,
  getAllowedValues,
  getTypes,
  listSchemaProperties,
  resolveSchemaRef,
  toSchemas,
} from "../lib/schema/schema.ts";
import { normalForm } from "./normal-form.ts";

/** Types of RTFS that are one word. */
export const rtfsWords = ["string", "int", "float", "bool", "any", "never"] as const;

/** Type of RTFS that is one word. */
export type RtfsWord = (typeof rtfsWords)[number];

/** Key of a map with the type of its value. */
export interface RtfsEntry {
  readonly key: string;
  readonly optional: boolean;
  readonly type: RtfsType;
}

/** Type of RTFS. */
export type RtfsType =
  | { readonly kind: "word"; readonly word: RtfsWord }
  | { readonly kind: "vector"; readonly items: RtfsType }
  | { readonly kind: "tuple" | "union" | "and"; readonly members: readonly RtfsType[] }
  /** `others` is the type at keys without an entry. */
  | { readonly kind: "map"; readonly entries: readonly RtfsEntry[]; readonly others?: RtfsType }
  | { readonly kind: "map-of"; readonly values: RtfsType };

/*
 * | JSON Schema                                    | RTFS                                             |
 * |------------------------------------------------|--------------------------------------------------|
 * | "string"                                       | :string                                          |
 * | "integer", "number"                            | :int, :float                                     |
 * | "boolean"                                      | :bool                                            |
 * | "array"                                        | [:vector T], [:vector :any] without items        |
 * | "object"                                       | [:map [:key T] …], [:map] without properties     |
 * | a property that is not required                | [:key {:optional true} T]                        |
 * | "null", a choice with null, nullable           | :any: the schema, not the type, tells the null   |
 * | enum and const of texts                        | :string: the values are checked by the schema    |
 * The rows above are from spec 004; those below are ours.
 * | enum and const of others                       | their types, several as [:union …]               |
 * | several types, anyOf, oneOf                    | [:union A B]                                     |
 * | allOf, and words beside a $ref or a choice     | one [:map …] of all maps, else [:and A B]        |
 * | additionalProperties: T, or patternProperties  | [:map-of :string T]; beside properties [:* T]    |
 * | additionalProperties: true or false            | nothing: a map tells the keys that are known     |
 * | prefixItems                                    | [:tuple A B]; with items [:vector [:union …]]    |
 * | $ref within the schema                         | what it leads to                                 |
 * | a $ref that has no end, or leads elsewhere     | :any                                             |
 * | a schema that allows nothing (false)           | :never                                           |
 * | not, if, limits, what says nothing             | :any, or what else is said                       |
 * | a key that is no keyword of RTFS               | a text: ["two words" :string]                    |
 */

/** Limits: beyond them, a type is `:any`. */
const MAX_NODES = 3_000;
const MAX_DEPTH = 40;
/** Nested references multiply the size of a type. Each depth is tried until the type fits the limits. */
const HOPS = [MAX_DEPTH, 4, 2, 1];

/** Converts a JSON Schema to a type of RTFS. Any value is accepted as a schema. */
export function rtfsType(schema: unknown): RtfsType {
  const root = normalForm(schema, { annotations: false, sorted: false });
  for (const hops of HOPS) {
    const { type, complete } = convertWithin(root, hops);
    if (complete || hops === HOPS.at(-1)) return type;
  }
  return ANY;
}

function convertWithin(root: JsonObject, hops: number): { type: RtfsType; complete: boolean } {
  let nodes = 0;
  let depth = 0;
  /** Targets of the references that are being followed; one that occurs again is recursive. */
  const open = new Set<unknown>();
  return { type: toType(root), complete: nodes <= MAX_NODES };

  function toType(node: unknown): RtfsType {
    if (allowsNothing(node)) return word("never");
    if (!isJsonObject(node) || ++nodes > MAX_NODES || depth >= MAX_DEPTH) return ANY;
    depth++;
    const type = joined(node);
    depth--;
    return type;
  }

  function joined(node: JsonObject): RtfsType {
    const values = getAllowedValues(node);
    const types = getTypes(node);
    if (values) return joinUnion(values.map((value) => toValueType(value, types.includes("number"))));
    const parts: RtfsType[] = types.length > 0 ? [joinUnion(types.map((type) => ownType(type, node)))] : [];
    if (typeof node["$ref"] === "string") parts.push(followReference(node["$ref"]));
    for (const word of ["anyOf", "oneOf"]) {
      const branches = toSchemas(node[word]);
      if (branches.length > 0) parts.push(joinUnion(branches.map(toType)));
    }
    for (const part of toSchemas(node["allOf"])) parts.push(toType(part));
    return intersect(parts);
  }

  function followReference(ref: string): RtfsType {
    const target = resolveSchemaRef(ref, root);
    if (open.has(target) || open.size >= hops || target === root) return ANY;
    open.add(target);
    const type = toType(target);
    open.delete(target);
    return type;
  }

  function ownType(type: string, node: JsonObject): RtfsType {
    if (type === "string") return word("string");
    if (type === "integer") return word("int");
    if (type === "number") return word("float");
    if (type === "boolean") return word("bool");
    if (type === "object") return mapType(node);
    return type === "array" ? listType(node) : ANY;
  }

  function mapType(node: JsonObject): RtfsType {
    const { additionalProperties: others, patternProperties: patterns } = node;
    const rest = [
      ...(isJsonObject(others) ? [others] : []),
      ...(isJsonObject(patterns) ? Object.values(patterns) : []),
    ];
    const values = rest.length > 0 ? joinUnion(rest.map(toType)) : undefined;
    const entries = toEntries(node);
    if (values === undefined) return { kind: "map", entries };
    return entries.length > 0 ? { kind: "map", entries, others: values } : { kind: "map-of", values };
  }

  function toEntries(node: JsonObject): RtfsEntry[] {
    const known = listSchemaProperties(node);
    const names = new Set(known.map(({ name }) => name));
    const unknown = toSchemas(node["required"]).filter((name) => !names.has(String(name)));
    return [
      ...known.map(({ name, required, schema: inner }) => ({
        key: name,
        optional: !required,
        type: toType(inner),
      })),
      ...unknown.map((name) => ({ key: String(name), optional: false, type: ANY })),
    ];
  }

  function listType({ prefixItems, items }: JsonObject): RtfsType {
    const heads = toSchemas(prefixItems).map(toType);
    if (heads.length === 0) return { kind: "vector", items: toType(items) };
    if (!isJsonObject(items)) return { kind: "tuple", members: heads };
    return { kind: "vector", items: joinUnion([...heads, toType(items)]) };
  }
}

function toValueType(value: unknown, isFloat: boolean): RtfsType {
  if (typeof value === "string") return word("string");
  if (typeof value === "boolean") return word("bool");
  if (typeof value === "number") return word(isFloat || !Number.isInteger(value) ? "float" : "int");
  if (Array.isArray(value)) return { kind: "vector", items: ANY };
  return value === null ? ANY : { kind: "map", entries: [] };
}

/** Type that allows everything. */
const ANY: RtfsType = word("any");

/** Creates a type of one word. */
function word(name: RtfsWord): RtfsType {
  return { kind: "word", word: name };
}

/** Joins types to a union; one that allows everything absorbs the others. */
function joinUnion(types: readonly RtfsType[]): RtfsType {
  if (types.length === 1) return types[0] as RtfsType;
  const flat = types.flatMap((type) => (type.kind === "union" ? type.members : [type]));
  if (flat.length === 0 || flat.some(isAny)) return ANY;
  const members = distinct(flat).filter((type) => !isWord(type, "never"));
  return members.length > 1 ? { kind: "union", members } : (members[0] ?? word("never"));
}

/** Joins types that all hold: maps are merged to one, and `:any` is left out. */
function intersect(types: readonly RtfsType[]): RtfsType {
  if (types.length === 1) return types[0] as RtfsType;
  const flat = types.flatMap((type) => (type.kind === "and" ? type.members : [type]));
  const telling = flat.filter((type) => !isAny(type));
  const maps = telling.filter((type) => type.kind === "map");
  const others = distinct(telling.filter((type) => type.kind !== "map"));
  const whole = others.some((type) => isWord(type, "int"));
  const members = [
    ...(maps.length > 0 ? [maps.reduce(mergeMaps)] : []),
    ...others.filter((type) => !(whole && isWord(type, "float"))),
  ];
  return members.length > 1 ? { kind: "and", members } : (members[0] ?? ANY);
}

type RtfsMap = Extract<RtfsType, { kind: "map" }>;

function mergeMaps(a: RtfsMap, b: RtfsMap): RtfsMap {
  const entries = new Map<string, RtfsEntry>(a.entries.map((entry) => [entry.key, entry]));
  for (const entry of b.entries) {
    const other = entries.get(entry.key);
    if (!other) entries.set(entry.key, entry);
    else {
      const optional = other.optional && entry.optional;
      entries.set(entry.key, { key: entry.key, optional, type: intersect([other.type, entry.type]) });
    }
  }
  const rest = [a, b].flatMap(({ others }) => (others ? [others] : []));
  return {
    kind: "map",
    entries: [...entries.values()],
    ...(rest.length > 0 ? { others: intersect(rest) } : {}),
  };
}

function distinct(types: readonly RtfsType[]): readonly RtfsType[] {
  if (types.length < 2) return types;
  const seen = new Map<string, RtfsType>();
  for (const type of types) {
    const text = JSON.stringify(type);
    if (!seen.has(text)) seen.set(text, type);
  }
  return [...seen.values()];
}

function isAny(type: RtfsType): boolean {
  return isWord(type, "any");
}

function isWord(type: RtfsType, name: RtfsWord): boolean {
  return type.kind === "word" && type.word === name;
}
