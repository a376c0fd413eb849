import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  collectReferences,
  createDataCopier,
  type DataCopier,
  distinct,
  hidesSiblings,
  keywordKinds,
  listKeys,
  listTypes,
  type References,
  setProperty,
} from "./references.ts";

/** Style of a normal form. */
interface FormStyle {
  /** Whether titles, descriptions, defaults and examples stay. */
  readonly annotations: boolean;
  /** Whether keys are sorted; else they keep their order. */
  readonly sorted: boolean;
}

/** Limits: schemas are untrusted. A schema beyond a limit allows everything. */
const MAX_NODES = 20_000;
const MAX_DEPTH = 100;

/** State of the normalization of one schema. */
interface Forming extends FormStyle {
  readonly references: References;
  readonly copy: DataCopier;
  /** Normalizes a nested schema. */
  form(schema: unknown): JsonObject | boolean;
}

/** Converts any value to a JSON Schema of draft 2020-12 with all referenced schemas in `$defs`. */
export function normalForm(schema: unknown, style: FormStyle): JsonObject {
  if (!isJsonObject(schema)) return schema === false ? { not: {} } : {};
  const references = collectReferences(schema, style.sorted);
  const hides = hidesSiblings(schema["$schema"]);
  let nodes = 0;
  let depth = 0;
  const forming: Forming = { ...style, references, copy: createDataCopier(style.sorted), form };
  const whole = form(schema);
  const result: JsonObject = isJsonObject(whole) ? whole : whole ? {} : { not: {} };
  const definitions: JsonObject = {};
  for (let one = references.next(); one; one = references.next())
    setProperty(definitions, one.name, form(one.schema));
  const names = listKeys(definitions, style.sorted);
  if (names.length === 0) return result;
  result["$defs"] = Object.fromEntries(names.map((name) => [name, definitions[name]]));
  return style.sorted ? Object.fromEntries(listKeys(result, true).map((key) => [key, result[key]])) : result;

  function form(node: unknown): JsonObject | boolean {
    if (!isJsonObject(node)) return node !== false;
    if (++nodes > MAX_NODES || depth >= MAX_DEPTH) return true;
    depth++;
    const made = normalizeNode(applyDialect(node), forming);
    depth--;
    return made;
  }

  /** Rewrites `nullable`, and drops the keywords that a reference hides in older drafts. */
  function applyDialect(node: JsonObject): JsonObject {
    if (node["nullable"] === true && listTypes(node["type"]).length === 0) {
      const { nullable: _, ...rest } = node;
      const { enum: values } = node;
      if (Array.isArray(values)) return { ...rest, enum: [...values, null] };
      return { anyOf: [rest, { type: "null" }] };
    }
    if (!hides || typeof node["$ref"] !== "string") return node;
    return Object.fromEntries(
      Object.entries(node).filter(([key]) => key === "$ref" || !keywordKinds.has(key)),
    );
  }
}

function normalizeNode(node: JsonObject, forming: Forming): JsonObject | boolean {
  const { annotations, sorted, copy, form } = forming;
  const result: JsonObject = {};
  for (const key of listKeys(node, sorted)) {
    const value = node[key];
    const kind = keywordKinds.get(key);
    if (kind === "schema") result[key] = form(value);
    else if (kind === "schemas") {
      if (Array.isArray(value) && value.length > 0) result[key] = value.map(form);
    } else if (kind === "named") {
      if (isJsonObject(value)) result[key] = normalizeMap(value, forming);
    } else if (kind === "number") {
      if (typeof value === "number" && Number.isFinite(value)) result[key] = value;
    } else if (kind === "count") {
      if (Number.isSafeInteger(value) && Number(value) >= 0) result[key] = value;
    } else if (kind === "text") {
      if (typeof value === "string") result[key] = value;
    } else if (kind === "gone") setKeyword(result, key, node, forming);
    else if (annotations && (key !== "id" || typeof value !== "string"))
      setProperty(result, key, copy(value));
  }
  return tidy(result, node, forming);
}

function normalizeMap(value: JsonObject, { form, sorted }: Forming): JsonObject {
  const result: JsonObject = {};
  for (const key of listKeys(value, sorted)) setProperty(result, key, form(value[key]));
  return result;
}

/** Sets a keyword that can be written in more than one way. */
function setKeyword(result: JsonObject, key: string, node: JsonObject, forming: Forming): void {
  const { sorted, copy, form, references, annotations } = forming;
  const value = node[key];
  if (key === "type") {
    const types = listTypes(value);
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
    const names = readNames(value, sorted);
    if (names.length > 0) result["required"] = names;
  } else if (key === "items" || key === "prefixItems") setItems(result, node, form);
  else if (key === "uniqueItems") {
    if (value === true) result[key] = true;
  } else if (key === "$ref" || key === "$dynamicRef" || key === "$recursiveRef") {
    const name = references.resolveName(value);
    if (name !== undefined) result["$ref"] = name === "" ? "#" : `#/$defs/${name}`;
  } else if (key === "dependentRequired" || key === "dependencies") setDependents(result, node, forming);
  else if (key === "example" && annotations && !Array.isArray(node["examples"]))
    result["examples"] = [copy(value)];
}

/** Before draft 2020-12, `items` held the list that is now `prefixItems`, and `additionalItems` the rest. */
function setItems(result: JsonObject, node: JsonObject, form: Forming["form"]): void {
  if (Object.hasOwn(result, "items") || Object.hasOwn(result, "prefixItems")) return;
  const { items, prefixItems, additionalItems } = node;
  const heads = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const tail = Array.isArray(items) ? additionalItems : items;
  if (tail !== undefined) result["items"] = form(tail);
  if (heads.length > 0) result["prefixItems"] = heads.map(form);
}

/** Splits the former `dependencies` into `dependentRequired` and `dependentSchemas`. */
function setDependents(result: JsonObject, node: JsonObject, { sorted, form }: Forming): void {
  const required: JsonObject = {};
  const schemas: JsonObject = {};
  for (const word of ["dependencies", "dependentRequired"]) {
    const named = node[word];
    if (!isJsonObject(named)) continue;
    for (const key of listKeys(named, sorted)) {
      const value = named[key];
      if (Array.isArray(value)) setProperty(required, key, readNames(value, sorted));
      else if (word === "dependencies") setProperty(schemas, key, form(value));
    }
  }
  if (Object.keys(required).length > 0) result["dependentRequired"] = required;
  if (Object.keys(schemas).length > 0 && !isJsonObject(node["dependentSchemas"]))
    result["dependentSchemas"] = schemas;
}

function readNames(value: unknown, sorted: boolean): string[] {
  const names = Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];
  return sorted ? [...new Set(names)].sort() : [...new Set(names)];
}

// Only properties that exist are deleted: V8 makes an object slow once a property was deleted from it.
const ANYTHING = ["additionalProperties", "propertyNames", "items"] as const;
const NAMED = ["properties", "patternProperties", "dependentSchemas"] as const;
/** Keywords without effect if their value is 0. */
const REDUNDANT_ZERO = ["minLength", "minItems", "minProperties"] as const;

/** Removes keywords without effect, and chooses one of several equivalent forms. */
function tidy(result: JsonObject, node: JsonObject, forming: Forming): JsonObject | boolean {
  applyDraft4Bound(result, node, "exclusiveMinimum", "minimum");
  applyDraft4Bound(result, node, "exclusiveMaximum", "maximum");
  for (const word of REDUNDANT_ZERO) if (result[word] === 0) delete result[word];
  if (result["not"] === true) return false;
  if (result["not"] === false) delete result["not"];
  if (result["examples"] !== undefined && !Array.isArray(result["examples"])) delete result["examples"];
  if (!forming.references.tracksEvaluated) dropRedundant(result);
  const keys = Object.keys(result);
  if (keys.length === 0) return true;
  return keys.length === 1
    ? unwrapSinglePart(result, keys[0] as string)
    : sortKeys(result, keys, forming.sorted);
}

/** Replaces an `allOf`, `anyOf` or `oneOf` of one schema by that schema. */
function unwrapSinglePart(result: JsonObject, key: string): JsonObject | boolean {
  const isJoin = key === "allOf" || key === "anyOf" || key === "oneOf";
  const parts = result[key];
  return isJoin && Array.isArray(parts) && parts.length === 1 ? (parts[0] as JsonObject | boolean) : result;
}

/** Converts the boolean `exclusiveMinimum` and `exclusiveMaximum` of draft 4. */
function applyDraft4Bound(result: JsonObject, node: JsonObject, word: string, bound: string): void {
  if (node[word] !== true || typeof result[bound] !== "number") return;
  result[word] = result[bound];
  delete result[bound];
}

/** Drops keywords that allow everything. Without a type they stay: they tell that an object or a list is meant. */
function dropRedundant(result: JsonObject): void {
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

function sortKeys(result: JsonObject, keys: readonly string[], sorted: boolean): JsonObject {
  if (!sorted) return result;
  return Object.fromEntries(keys.toSorted().map((key) => [key, result[key]]));
}
