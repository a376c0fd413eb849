import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { pointed } from "../json.ts";

/** References that lead to references are followed so many times. */
const MAX_HOPS = 20;

/** What a reference within a schema leads to, if it leads anywhere; references to other documents do not. */
export function resolveRef(ref: unknown, root: unknown): unknown {
  let target: unknown = ref;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    target = typeof target === "string" ? pointed(root, target) : undefined;
    const isOnlyRef = isJsonObject(target) && Object.keys(target).length === 1;
    if (!isOnlyRef || !Object.hasOwn(target as JsonObject, "$ref")) return target;
    target = (target as JsonObject)["$ref"];
  }
}

const STRING_WORDS = ["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"];
const NUMBER_WORDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const ARRAY_WORDS = ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"];
const OBJECT_WORDS = ["properties", "additionalProperties", "patternProperties", "propertyNames"];

/** The types that a schema names or, where it names none, those that its other words are about. */
export function typesOf(schema: JsonObject): string[] {
  const { type: one } = schema;
  if (typeof one === "string") return [one.toLowerCase()];
  const named = [one].flat().filter((type): type is string => typeof type === "string");
  if (named.length > 0) return [...new Set(named.map((type) => type.toLowerCase()))];
  const has = (words: readonly string[]): boolean => words.some((word) => Object.hasOwn(schema, word));
  if (has(OBJECT_WORDS)) return ["object"];
  if (has(ARRAY_WORDS)) return ["array"];
  if (has(STRING_WORDS)) return ["string"];
  return has(NUMBER_WORDS) ? ["number"] : [];
}

/** The values that `const` and `enum` allow, each once; nothing where neither says any. */
export function valuesOf(schema: JsonObject): unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  const { enum: values } = schema;
  // An empty list would allow nothing at all, which nobody means.
  return Array.isArray(values) && values.length > 0 ? [...new Set(values)] : undefined;
}

/** The schemas in a list of them, such as `anyOf`. */
export function schemasIn(list: unknown): unknown[] {
  return Array.isArray(list) ? list : [];
}

/** One named part of an object schema. */
export interface Property {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** The properties of an object schema, in its order. */
export function propertiesOf(schema: unknown): Property[] {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, inner]) => ({
    name,
    schema: inner,
    required: required.includes(name),
  }));
}

/** Whether a schema says in so many words that it allows nothing. */
export function isNothing(schema: unknown): boolean {
  if (!isJsonObject(schema)) return schema === false;
  const { not } = schema;
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0);
}
