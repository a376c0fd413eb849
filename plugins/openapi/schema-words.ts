import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { plainText } from "./document.ts";

const LONGEST_DESCRIPTION = 300;
const LARGEST_EXAMPLE = 500;
const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** The types that a node names or, where it names none, the one its other words are about. */
export function readTypes(node: JsonObject): string[] {
  const named = [node["type"]].flat().map((type) => (typeof type === "string" ? type.toLowerCase() : ""));
  const known = [...new Set(named.filter((type) => TYPES.has(type)))];
  if (known.length > 0) return known;
  if (isJsonObject(node["properties"])) return ["object"];
  return isJsonObject(node["items"]) ? ["array"] : [];
}

/** Whether a value is of a type. */
export function isOf(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

/** Adds what a node says that is not about what is allowed. */
export function annotate(schema: JsonObject, node: JsonObject): void {
  described(schema, node);
  const { example, examples, default: byDefault } = node;
  if (isSmall(byDefault)) schema["default"] = byDefault;
  const all = Array.isArray(examples) ? examples : [example];
  const told = all.find((value) => isSmall(value) && fits(value, schema["type"], node));
  if (told !== undefined) schema["examples"] = [told];
  if (node["deprecated"] === true) schema["deprecated"] = true;
}

/** Examples are often written as a text whatever they are of, or shortened. */
function fits(value: unknown, type: unknown, { minLength, maxLength }: JsonObject): boolean {
  const types = [type ?? []].flat().map(String);
  if (types.length > 0 && !types.some((one) => isOf(value, one))) return false;
  if (typeof value !== "string") return true;
  const isLong = typeof minLength !== "number" || value.length >= minLength;
  return isLong && (typeof maxLength !== "number" || value.length <= maxLength);
}

function isSmall(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "object") return JSON.stringify(value).length <= LARGEST_EXAMPLE;
  return typeof value !== "string" || value.length <= LARGEST_EXAMPLE;
}

/** Adds what a node says of itself. */
export function described(schema: JsonObject, node: JsonObject): JsonObject {
  const text = plainText(node["description"] ?? node["title"], LONGEST_DESCRIPTION);
  if (text !== undefined) schema["description"] = text;
  return schema;
}

/** In OpenAPI 3.0 and before, whether a bound is exclusive is said beside it. */
export function exclusive(schema: JsonObject, node: JsonObject): void {
  for (const [word, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (node[word] !== true || typeof schema[bound] !== "number") continue;
    schema[word] = schema[bound];
    delete schema[bound];
  }
}

/** A schema that allows the same and `null`. */
export function orNull(schema: JsonObject): JsonObject {
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
