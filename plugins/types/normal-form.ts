import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  type DataCopy,
  dataCopy,
  distinct,
  hidesSiblings,
  keysOf,
  namedTypes,
  put,
  type References,
  referencesOf,
  wordKinds,
} from "./references.ts";

/** What a normal form keeps. */
export interface FormStyle {
  /** Whether words for people stay: titles, descriptions, defaults, examples. */
  readonly annotations: boolean;
  /** Whether keys are sorted; else they stay as they stand. */
  readonly sorted: boolean;
}

/** Schemas come from strangers. What is beyond is taken for one that allows everything. */
const MAX_NODES = 20_000;
const MAX_DEPTH = 100;

/** What is known while one schema is put into its normal form. */
export interface Forming extends FormStyle {
  readonly references: References;
  readonly copy: DataCopy;
  /** The normal form of a schema inside. */
  form(schema: unknown): JsonObject | boolean;
}

/** Any value as a JSON Schema of the draft 2020-12, with all that is referred to in `$defs`. */
export function normalForm(schema: unknown, style: FormStyle): JsonObject {
  if (!isJsonObject(schema)) return schema === false ? { not: {} } : {};
  const references = referencesOf(schema, style.sorted);
  const hides = hidesSiblings(schema["$schema"]);
  let nodes = 0;
  let depth = 0;
  const forming: Forming = { ...style, references, copy: dataCopy(style.sorted), form };
  const whole = form(schema);
  const result: JsonObject = isJsonObject(whole) ? whole : whole ? {} : { not: {} };
  const definitions: JsonObject = {};
  for (let one = references.next(); one; one = references.next())
    put(definitions, one.name, form(one.schema));
  const names = keysOf(definitions, style.sorted);
  if (names.length === 0) return result;
  result["$defs"] = Object.fromEntries(names.map((name) => [name, definitions[name]]));
  return style.sorted ? Object.fromEntries(keysOf(result, true).map((key) => [key, result[key]])) : result;

  function form(node: unknown): JsonObject | boolean {
    if (!isJsonObject(node)) return node !== false;
    if (++nodes > MAX_NODES || depth >= MAX_DEPTH) return true;
    depth++;
    const made = formed(seen(node), forming);
    depth--;
    return made;
  }

  /** What counts of a schema: where a reference hides what is beside it, that is gone. */
  function seen(node: JsonObject): JsonObject {
    if (node["nullable"] === true && namedTypes(node["type"]).length === 0) {
      const { nullable: _, ...rest } = node;
      const { enum: values } = node;
      if (Array.isArray(values)) return { ...rest, enum: [...values, null] };
      return { anyOf: [rest, { type: "null" }] };
    }
    if (!hides || typeof node["$ref"] !== "string") return node;
    return Object.fromEntries(Object.entries(node).filter(([key]) => key === "$ref" || !isRule(key)));
  }
}

function isRule(key: string): boolean {
  return wordKinds.has(key);
}

function formed(node: JsonObject, forming: Forming): JsonObject | boolean {
  const { annotations, sorted, copy, form } = forming;
  const result: JsonObject = {};
  for (const key of keysOf(node, sorted)) {
    const value = node[key];
    const kind = wordKinds.get(key);
    if (kind === "schema") result[key] = form(value);
    else if (kind === "schemas") {
      if (Array.isArray(value) && value.length > 0) result[key] = value.map(form);
    } else if (kind === "named") {
      if (isJsonObject(value)) result[key] = formedMap(value, forming);
    } else if (kind === "number") {
      if (typeof value === "number" && Number.isFinite(value)) result[key] = value;
    } else if (kind === "count") {
      if (Number.isSafeInteger(value) && Number(value) >= 0) result[key] = value;
    } else if (kind === "text") {
      if (typeof value === "string") result[key] = value;
    } else if (kind === "gone") setWord(result, key, node, forming);
    else if (annotations && (key !== "id" || typeof value !== "string")) put(result, key, copy(value));
  }
  return tidied(result, node, forming);
}

function formedMap(value: JsonObject, { form, sorted }: Forming): JsonObject {
  const result: JsonObject = {};
  for (const key of keysOf(value, sorted)) put(result, key, form(value[key]));
  return result;
}

/** Sets what a word says that is written in more than one way. */
function setWord(result: JsonObject, key: string, node: JsonObject, forming: Forming): void {
  const { sorted, copy, form, references, annotations } = forming;
  const value = node[key];
  if (key === "type") {
    const types = namedTypes(value);
    if (types.length === 0) return;
    if (node["nullable"] === true && !types.includes("null")) types.push("null");
    if (sorted) types.sort();
    result["type"] = types.length === 1 ? types[0] : types;
  } else if (key === "const") result["const"] = copy(value);
  else if (key === "enum") {
    if (!Array.isArray(value) || value.length === 0 || Object.hasOwn(node, "const")) return;
    const nulls = node["nullable"] === true ? [null] : [];
    const values = distinct([...value, ...nulls]);
    if (values.length === 1) result["const"] = copy(values[0]);
    else result["enum"] = copy(values);
  } else if (key === "required") {
    const names = namesIn(value, sorted);
    if (names.length > 0) result["required"] = names;
  } else if (key === "items" || key === "prefixItems") setItems(result, node, form);
  else if (key === "uniqueItems") {
    if (value === true) result[key] = true;
  } else if (key === "$ref" || key === "$dynamicRef" || key === "$recursiveRef") {
    const name = references.nameOf(value);
    if (name !== undefined) result["$ref"] = name === "" ? "#" : `#/$defs/${name}`;
  } else if (key === "dependentRequired" || key === "dependencies") setDependents(result, node, forming);
  else if (key === "example" && annotations && !Array.isArray(node["examples"]))
    result["examples"] = [copy(value)];
}

/** A list of schemas for the first items was the word `items` itself once, and that for the others another. */
function setItems(result: JsonObject, node: JsonObject, form: Forming["form"]): void {
  if (Object.hasOwn(result, "items") || Object.hasOwn(result, "prefixItems")) return;
  const { items, prefixItems, additionalItems } = node;
  const heads = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const tail = Array.isArray(items) ? additionalItems : items;
  if (tail !== undefined) result["items"] = form(tail);
  if (heads.length > 0) result["prefixItems"] = heads.map(form);
}

/** One word said two things once: what other keys a key asks for, and what else holds where it is there. */
function setDependents(result: JsonObject, node: JsonObject, { sorted, form }: Forming): void {
  const required: JsonObject = {};
  const schemas: JsonObject = {};
  for (const word of ["dependencies", "dependentRequired"]) {
    const named = node[word];
    if (!isJsonObject(named)) continue;
    for (const key of keysOf(named, sorted)) {
      const value = named[key];
      if (Array.isArray(value)) put(required, key, namesIn(value, sorted));
      else if (word === "dependencies") put(schemas, key, form(value));
    }
  }
  if (Object.keys(required).length > 0) result["dependentRequired"] = required;
  if (Object.keys(schemas).length > 0 && !isJsonObject(node["dependentSchemas"]))
    result["dependentSchemas"] = schemas;
}

function namesIn(value: unknown, sorted: boolean): string[] {
  const names = Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];
  return sorted ? [...new Set(names)].sort() : [...new Set(names)];
}

// Where there is nothing to delete nothing is: an object that had a property deleted is a slow one from then on.
const ANYTHING = ["additionalProperties", "propertyNames", "items"] as const;
const NAMED = ["properties", "patternProperties", "dependentSchemas"] as const;
/** Words that change nothing where they say 0. */
const IDLE = ["minLength", "minItems", "minProperties"] as const;

/** A schema without the words that change nothing, and in the one way of several that say the same. */
export function tidied(result: JsonObject, node: JsonObject, forming: Forming): JsonObject | boolean {
  exclude(result, node, "exclusiveMinimum", "minimum");
  exclude(result, node, "exclusiveMaximum", "maximum");
  for (const word of IDLE) if (result[word] === 0) delete result[word];
  if (result["not"] === true) return false;
  if (result["not"] === false) delete result["not"];
  if (result["examples"] !== undefined && !Array.isArray(result["examples"])) delete result["examples"];
  if (!forming.references.countsLooks) dropIdle(result);
  const keys = Object.keys(result);
  if (keys.length === 0) return true;
  return keys.length === 1 ? onlyPart(result, keys[0] as string) : ordered(result, keys, forming.sorted);
}

/** What a choice of one, or one part of a whole, comes to. */
function onlyPart(result: JsonObject, key: string): JsonObject | boolean {
  const isJoin = key === "allOf" || key === "anyOf" || key === "oneOf";
  const parts = result[key];
  return isJoin && Array.isArray(parts) && parts.length === 1 ? (parts[0] as JsonObject | boolean) : result;
}

/** In the draft 4 a bound was excluded by `true` beside it. */
function exclude(result: JsonObject, node: JsonObject, word: string, bound: string): void {
  if (node[word] !== true || typeof result[bound] !== "number") return;
  result[word] = result[bound];
  delete result[bound];
}

/** What allows everything. Without a type such a word still tells what is meant: an object, or a list. */
function dropIdle(result: JsonObject): void {
  const { if: condition, then, else: otherwise } = result;
  if (condition === undefined ? then !== undefined || otherwise !== undefined : then === otherwise)
    for (const word of ["if", "then", "else"]) delete result[word];
  if (result["type"] === undefined) return;
  for (const word of ANYTHING) if (result[word] === true) delete result[word];
  for (const word of NAMED) {
    const named = result[word];
    if (named !== undefined && Object.keys(named as JsonObject).length === 0) delete result[word];
  }
}

function ordered(result: JsonObject, keys: readonly string[], sorted: boolean): JsonObject {
  if (!sorted) return result;
  return Object.fromEntries(keys.toSorted().map((key) => [key, result[key]]));
}
