import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { plainText } from "./document.ts";

const LONGEST_DESCRIPTION = 300;
const LARGEST_EXAMPLE = 500;
const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** Returns the declared types of a node or, without any, the one of its other keywords. */
export function readTypes(node: JsonObject): string[] {
  const named = [node["type"]].flat().map((type) => (typeof type === "string" ? type.toLowerCase() : ""));
  const known = [...new Set(named.filter((type) => TYPES.has(type)))];
  if (known.length > 0) return known;
  if (isJsonObject(node["properties"])) return ["object"];
  return isJsonObject(node["items"]) ? ["array"] : [];
}

/** Whether a value has a type of JSON Schema. */
export function isType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** Adds description, default, example and deprecation. */
export function annotate(schema: JsonObject, node: JsonObject): void {
  addDescription(schema, node);
  const { example, examples, default: byDefault } = node;
  if (isSmall(byDefault)) schema["default"] = byDefault;
  const all = Array.isArray(examples) ? examples : [example];
  const fitting = all.find((value) => isSmall(value) && fits(value, schema["type"], node));
  if (fitting !== undefined) schema["examples"] = [fitting];
  if (node["deprecated"] === true) schema["deprecated"] = true;
}

/** Examples are often strings whatever their type is, or shortened. */
function fits(value: unknown, type: unknown, { minLength, maxLength }: JsonObject): boolean {
  const types = [type ?? []].flat().map(String);
  if (types.length > 0 && !types.some((one) => isType(value, one))) return false;
  if (typeof value !== "string") return true;
  const isLong = typeof minLength !== "number" || value.length >= minLength;
  return isLong && (typeof maxLength !== "number" || value.length <= maxLength);
}

function isSmall(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "object") return JSON.stringify(value).length <= LARGEST_EXAMPLE;
  return typeof value !== "string" || value.length <= LARGEST_EXAMPLE;
}

/** Adds the description or title of a node. */
export function addDescription(schema: JsonObject, node: JsonObject): JsonObject {
  const text = plainText(node["description"] ?? node["title"], LONGEST_DESCRIPTION);
  if (text !== undefined) schema["description"] = text;
  return schema;
}

/** Converts the boolean `exclusiveMinimum` and `exclusiveMaximum` of OpenAPI 3.0 and before to numbers. */
export function addExclusiveBounds(schema: JsonObject, node: JsonObject): void {
  for (const [word, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (node[word] !== true || typeof schema[bound] !== "number") continue;
    schema[word] = schema[bound];
    delete schema[bound];
  }
}

/** Extends a schema to allow `null`. */
export function toNullable(schema: JsonObject): JsonObject {
  const { type, enum: values, description, ...rest } = schema;
  const isPlain = type !== undefined && !("anyOf" in rest) && !("allOf" in rest) && !("const" in rest);
  if (isPlain) {
    const types = [type, "null"].flat();
    return {
      ...schema,
      type: [...new Set(types)],
      ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
    };
  }
  if (Object.keys(schema).length === 0 || (type === undefined && Object.keys(rest).length === 0 && !values)) {
    return schema;
  }
  const { description: _, ...plain } = schema;
  return { ...(description !== undefined && { description }), anyOf: [plain, { type: "null" }] };
}
