import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { isNothing, propertiesOf, resolveRef, schemasIn, typesOf, valuesOf } from "../lib/schema/schema.ts";
import { normalForm } from "./normal-form.ts";
import { ANY, allOf, unionOf, word } from "./rtfs-join.ts";
import type { RtfsEntry, RtfsType } from "./rtfs-print.ts";

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
 * Up to here the specification says so; from here on it is silent.
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

/** What is beyond is `:any`. */
const MAX_NODES = 3_000;
const MAX_DEPTH = 40;
/** References multiply what few schemas say: they are followed this far within each other, or else less far. */
const HOPS = [MAX_DEPTH, 4, 2, 1];

/** The type of RTFS that a JSON Schema describes. Any value is taken for a schema. */
export function rtfsType(schema: unknown): RtfsType {
  const root = normalForm(schema, { annotations: false, sorted: false });
  for (const hops of HOPS) {
    const { type, complete } = typeWithin(root, hops);
    if (complete || hops === HOPS.at(-1)) return type;
  }
  return ANY;
}

function typeWithin(root: JsonObject, hops: number): { type: RtfsType; complete: boolean } {
  let nodes = 0;
  let depth = 0;
  /** The targets of references that are being written right now: one that comes again has no end. */
  const open = new Set<unknown>();
  return { type: typeOf(root), complete: nodes <= MAX_NODES };

  function typeOf(node: unknown): RtfsType {
    if (isNothing(node)) return word("never");
    if (!isJsonObject(node) || ++nodes > MAX_NODES || depth >= MAX_DEPTH) return ANY;
    depth++;
    const type = joined(node);
    depth--;
    return type;
  }

  function joined(node: JsonObject): RtfsType {
    const values = valuesOf(node);
    const types = typesOf(node);
    if (values) return unionOf(values.map((value) => typeOfValue(value, types.includes("number"))));
    const parts: RtfsType[] = types.length > 0 ? [unionOf(types.map((type) => ownType(type, node)))] : [];
    if (typeof node["$ref"] === "string") parts.push(referred(node["$ref"]));
    for (const word of ["anyOf", "oneOf"]) {
      const branches = schemasIn(node[word]);
      if (branches.length > 0) parts.push(unionOf(branches.map(typeOf)));
    }
    for (const part of schemasIn(node["allOf"])) parts.push(typeOf(part));
    return allOf(parts);
  }

  function referred(ref: string): RtfsType {
    const target = resolveRef(ref, root);
    if (open.has(target) || open.size >= hops || target === root) return ANY;
    open.add(target);
    const type = typeOf(target);
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
    const values = rest.length > 0 ? unionOf(rest.map(typeOf)) : undefined;
    const entries = entriesOf(node);
    if (values === undefined) return { kind: "map", entries };
    return entries.length > 0 ? { kind: "map", entries, others: values } : { kind: "map-of", values };
  }

  function entriesOf(node: JsonObject): RtfsEntry[] {
    const known = propertiesOf(node);
    const names = new Set(known.map(({ name }) => name));
    const unknown = schemasIn(node["required"]).filter((name) => !names.has(String(name)));
    return [
      ...known.map(({ name, required, schema: inner }) => ({
        key: name,
        optional: !required,
        type: typeOf(inner),
      })),
      ...unknown.map((name) => ({ key: String(name), optional: false, type: ANY })),
    ];
  }

  function listType({ prefixItems, items }: JsonObject): RtfsType {
    const heads = schemasIn(prefixItems).map(typeOf);
    if (heads.length === 0) return { kind: "vector", items: typeOf(items) };
    if (!isJsonObject(items)) return { kind: "tuple", members: heads };
    return { kind: "vector", items: unionOf([...heads, typeOf(items)]) };
  }
}

function typeOfValue(value: unknown, isFloat: boolean): RtfsType {
  if (typeof value === "string") return word("string");
  if (typeof value === "boolean") return word("bool");
  if (typeof value === "number") return word(isFloat || !Number.isInteger(value) ? "float" : "int");
  if (Array.isArray(value)) return { kind: "vector", items: ANY };
  return value === null ? ANY : { kind: "map", entries: [] };
}
