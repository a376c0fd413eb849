import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { findExample, follow, type OpenApiDocument, resolveRef, toEntries } from "./document.ts";
import { mergeAllOf } from "./merge.ts";
import {
  addDescription,
  addExclusiveBounds,
  annotate,
  isType,
  readTypes,
  toNullable,
} from "./schema-words.ts";

/** Converts the schemas of one document to JSON Schema 2020-12. */
export interface Schemas {
  /** Converts a node; its references lead to `#/$defs/…`. */
  convert(node: unknown): JsonObject;
  /** Returns a definition under `$defs`, converted once and shared by all references. */
  definition(name: string): JsonObject;
  /** Finds the example of a node in the document. */
  findExample(node: unknown): unknown;
}

/** Depth below which schemas are empty. */
const MAX_DEPTH = 24;
/** Limit of one conversion; the result is cut to a fraction of it later. */
const MAX_PARTS = 5_000;
const NUMBERS =
  "minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties maxProperties".split(
    " ",
  );
const STRINGS = ["format", "pattern", "contentEncoding", "contentMediaType"];
/** Keywords of a schema that hold other schemas. */
const PARTS = ["properties", "items", "prefixItems", "additionalProperties", "allOf", "anyOf", "oneOf"];

/**
 * Creates the converter of a document. It leaves out whatever it cannot express, so that a schema may allow more than
 * the document does and never less: the API still checks its arguments.
 */
export function createSchemas({ root, version }: OpenApiDocument): Schemas {
  const names = new Map<string, string>();
  const nodes = new Map<string, unknown>();
  const definitions = new Map<string, JsonObject>();
  // Joined parts can contain the schema that they are parts of, each time twice, without an end.
  let left = 0;
  const converted = (node: unknown): JsonObject => {
    left = MAX_PARTS;
    return convert(node, 0);
  };
  return {
    convert: converted,
    definition(name) {
      let known = definitions.get(name);
      if (!known) {
        known = converted(nodes.get(name));
        definitions.set(name, known);
      }
      return known;
    },
    findExample: (node) => findExample(root, node).example,
  };

  function convert(given: unknown, depth: number): JsonObject {
    if (!isJsonObject(given) || depth > MAX_DEPTH || --left < 0) return {};
    if (typeof given["$ref"] === "string") return convertRef(given, depth);
    const node = simplify(given);
    if (node !== given) return convert(node, depth + 1);
    const schema: JsonObject = {};
    const types = readTypes(node);
    const values = Array.isArray(node["enum"]) && node["enum"].length > 0 ? node["enum"] : undefined;
    // A document with the type "string" and an enum of numbers means the numbers.
    if (types.length > 0 && (!values || values.some((value) => types.some((type) => isType(value, type))))) {
      schema["type"] = types.length === 1 ? types[0] : types;
    }
    annotate(schema, node);
    if (values) schema["enum"] = values;
    if ("const" in node) schema["const"] = node["const"];
    for (const word of NUMBERS) if (typeof node[word] === "number") schema[word] = node[word];
    for (const word of STRINGS) if (typeof node[word] === "string") schema[word] = node[word];
    if (typeof node["multipleOf"] === "number" && node["multipleOf"] > 0)
      schema["multipleOf"] = node["multipleOf"];
    if (node["uniqueItems"] === true) schema["uniqueItems"] = true;
    addExclusiveBounds(schema, node);
    if (isFile(node)) Object.assign(schema, { type: "string", contentEncoding: "base64" });
    addItems(schema, node, depth);
    addProperties(schema, node, depth);
    addChoices(schema, node, depth);
    return isNullable(node) ? toNullable(schema) : schema;
  }

  /** Simple schemas are repeated where they are used: there they tell a model more than a reference. */
  function convertRef(given: JsonObject, depth: number): JsonObject {
    const { target, ref } = resolveRef(root, given) ?? {};
    if (!isJsonObject(target) || ref === undefined) return addDescription({}, given);
    if (PARTS.every((word) => !(word in target))) return addDescription(convert(target, depth + 1), given);
    return addDescription({ $ref: `#/$defs/${toName(ref, target)}` }, given);
  }

  function toName(ref: string, target: JsonObject): string {
    const known = names.get(ref);
    if (known !== undefined) return known;
    const last = ref.split("/").at(-1) ?? "";
    const plain = last.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 80) || "part";
    let name = plain;
    for (let number = 2; nodes.has(name); number++) name = `${plain}_${number}`;
    names.set(ref, name);
    nodes.set(name, target);
    return name;
  }

  /** Simplifies `allOf` if possible. */
  function simplify(node: JsonObject): JsonObject {
    const { allOf, ...rest } = node;
    if (!Array.isArray(allOf)) return node;
    const isAlone = allOf.length === 1 && PARTS.every((word) => !(word in rest)) && !("type" in rest);
    if (isAlone && isJsonObject(allOf[0])) {
      const only = allOf[0];
      if (!isNullable(node)) return { ...only, ...pick(rest, ["description", "default", "readOnly"]) };
    }
    return mergeAllOf(root, node) ?? node;
  }

  function addItems(schema: JsonObject, node: JsonObject, depth: number): void {
    const { items, prefixItems } = node;
    if (Array.isArray(items)) schema["prefixItems"] = items.map((item) => convert(item, depth + 1));
    else if (isJsonObject(items)) schema["items"] = convert(items, depth + 1);
    if (Array.isArray(prefixItems))
      schema["prefixItems"] = prefixItems.map((item) => convert(item, depth + 1));
  }

  function addProperties(schema: JsonObject, node: JsonObject, depth: number): void {
    const { additionalProperties, required } = node;
    const known = toEntries(node["properties"]);
    const kept = known.filter(([, inner]) => !isReadOnly(root, inner));
    const left = new Set(known.filter((entry) => !kept.includes(entry)).map(([name]) => name));
    if (known.length > 0) {
      schema["properties"] = Object.fromEntries(
        kept.map(([name, inner]) => [name, convert(inner, depth + 1)]),
      );
    }
    if (additionalProperties === false) schema["additionalProperties"] = false;
    else if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
      schema["additionalProperties"] = convert(additionalProperties, depth + 1);
    }
    if (!Array.isArray(required)) return;
    const names = new Set(kept.map(([name]) => name));
    const needed = required.filter(
      (name) =>
        typeof name === "string" && !left.has(name) && (additionalProperties !== false || names.has(name)),
    );
    if (needed.length > 0) schema["required"] = [...new Set(needed)];
  }

  /** `oneOf` becomes `anyOf`: once something was left out, two of its choices may allow the same value. */
  function addChoices(schema: JsonObject, node: JsonObject, depth: number): void {
    const all = ["allOf", "anyOf", "oneOf"].flatMap((word) => {
      const list = node[word];
      if (!Array.isArray(list) || list.length === 0) return [];
      const parts = list.map((part) => convert(part, depth + 1));
      return word === "allOf" ? parts : [{ anyOf: parts }];
    });
    const [only] = all;
    if (all.length === 1 && only && "anyOf" in only && Object.keys(only).length === 1)
      schema["anyOf"] = only["anyOf"];
    else if (all.length > 0) schema["allOf"] = all;
  }

  function isNullable(node: JsonObject): boolean {
    return version === "2.0" ? node["x-nullable"] === true : node["nullable"] === true;
  }
}

/** Whether only the API sets a property. */
export function isReadOnly(root: JsonObject, node: unknown): boolean {
  if (isJsonObject(node) && node["readOnly"] === true) return true;
  const target = follow(root, node);
  return isJsonObject(target) && target["readOnly"] === true;
}

/** Whether a value is the content of a file. */
export function isFile(node: JsonObject): boolean {
  return node["type"] === "file" || (node["type"] === "string" && node["format"] === "binary");
}

function pick(node: JsonObject, words: readonly string[]): JsonObject {
  return Object.fromEntries(words.filter((word) => word in node).map((word) => [word, node[word]]));
}
