import {
  defineError,
  type ErrorKind,
  GatewayError,
  isJsonObject,
  type JsonObject,
} from "../../../core/mod.ts";
import { resolvePointer } from "../json.ts";

const MAX_HOPS = 20;

/** Resolves a reference within a schema; undefined if it leads nowhere or into another document. */
export function resolveSchemaRef(ref: unknown, root: unknown): unknown {
  let target: unknown = ref;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    target = typeof target === "string" ? resolvePointer(root, target) : undefined;
    const isOnlyRef = isJsonObject(target) && Object.keys(target).length === 1;
    if (!isOnlyRef || !Object.hasOwn(target as JsonObject, "$ref")) return target;
    target = (target as JsonObject)["$ref"];
  }
}

const STRING_WORDS = ["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"];
const NUMBER_WORDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const ARRAY_WORDS = ["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"];
const OBJECT_WORDS = ["properties", "additionalProperties", "patternProperties", "propertyNames"];

/** Returns the types that a schema names or, if it names none, that its other keywords imply. */
export function getTypes(schema: JsonObject): string[] {
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

/** Returns the values that `const` and `enum` allow, each once; undefined if there is neither. */
export function getAllowedValues(schema: JsonObject): unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema["const"]];
  const { enum: values } = schema;
  // An empty list would allow no value at all, which no author means.
  return Array.isArray(values) && values.length > 0 ? [...new Set(values)] : undefined;
}

/** Returns the schemas of a list such as `anyOf`. */
export function toSchemas(list: unknown): unknown[] {
  return Array.isArray(list) ? list : [];
}

/** Property of an object schema. */
export interface Property {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** Lists the properties of an object schema in its order. */
export function listSchemaProperties(schema: unknown): Property[] {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, inner]) => ({
    name,
    schema: inner,
    required: required.includes(name),
  }));
}

/** Whether a schema explicitly allows no value. */
export function allowsNothing(schema: unknown): boolean {
  if (!isJsonObject(schema)) return schema === false;
  const { not } = schema;
  return not === true || (isJsonObject(not) && Object.keys(not).length === 0);
}

/** Limits of an untrusted schema: past any of these it is refused and not compiled. */
const MAX_NODES = 2_000;
const MAX_DEPTH = 32;
const MAX_BYTES = 256 * 1_024;

/** Keywords whose value is data and not a schema, which must stay as it is. */
export const DATA: ReadonlySet<string> = new Set(
  "const default enum example examples required dependentRequired".split(" "),
);
/** Keywords whose keys are names and not keywords. */
export const NAMED: ReadonlySet<string> = new Set(
  "properties patternProperties $defs definitions dependentSchemas dependencies".split(" "),
);
const DIALECT =
  /^https?:\/\/json-schema\.org\/(draft-0[4-7]\/(hyper-)?schema|draft\/(2019-09|2020-12)\/schema|schema)#?$/;
/** Base for the references of a schema without an id. */
const NOWHERE = "https://schema.invalid/";

/** Returns the regular expressions of a schema. Throws if it is too large or too deep, or refers to another document. */
export function scanSchema(schema: JsonObject): ReadonlySet<string> {
  const patterns = new Set<string>();
  const ids = new Set<string>();
  const references: string[] = [];
  let nodes = 0;
  let bytes = 0;
  visit(schema, 0, false);
  const base = resolveUrl(schema["$id"], NOWHERE) ?? NOWHERE;
  const own = new Set([base, ...[...ids].map((id) => resolveUrl(id, base))]);
  for (const reference of references) {
    if (!reference.startsWith("#") && !own.has(resolveUrl(reference, base))) throw external();
  }
  return patterns;

  function visit(value: unknown, depth: number, named: boolean): void {
    if (++nodes > MAX_NODES || depth > MAX_DEPTH) throw tooComplex();
    weigh(value);
    if (Array.isArray(value)) for (const item of value) visit(item, depth + 1, false);
    if (!isJsonObject(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      weigh(key);
      if (!named && DATA.has(key)) weighData(inner, depth);
      else {
        if (!named) keyword(key, inner);
        visit(inner, depth + 1, !named && NAMED.has(key));
      }
    }
  }

  function keyword(key: string, value: unknown): void {
    if (key === "patternProperties" && isJsonObject(value))
      for (const each of Object.keys(value)) patterns.add(each);
    else if (typeof value !== "string") return;
    else if (key === "pattern") patterns.add(value);
    else if (key === "$id" || key === "id") ids.add(value);
    else if (key === "$ref" || key === "$dynamicRef") references.push(value);
    else if (key === "$schema" && !DIALECT.test(value)) throw external();
  }

  function weigh(value: unknown): void {
    bytes += typeof value === "string" ? value.length : 1;
    if (bytes > MAX_BYTES) throw tooComplex();
  }

  function weighData(value: unknown, depth: number): void {
    if (depth > 2 * MAX_DEPTH) throw tooComplex();
    weigh(value);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      weigh(key);
      weighData(inner, depth + 1);
    }
  }
}

/** Resolves a URL without its fragment, which is a place inside. */
function resolveUrl(reference: unknown, base: string): string | undefined {
  try {
    const url = new URL(String(reference ?? ""), base);
    url.hash = "";
    return url.href;
  } catch {
    return undefined;
  }
}

function external(): GatewayError {
  return new GatewayError(
    SCHEMA_UNSUPPORTED,
    "The schema refers to another document, which is never fetched.",
  );
}

/** Creates the error for a schema or value that takes too long to check. */
export function tooComplex(): GatewayError {
  return new GatewayError(SCHEMA_TOO_COMPLEX, "The schema is too complex.");
}

export const SCHEMA_TOO_COMPLEX: ErrorKind = defineError("SCHEMA_TOO_COMPLEX", {
  exit: 2,
  description: "An input schema is too large, or takes too long to check against.",
});
export const SCHEMA_UNSUPPORTED: ErrorKind = defineError("SCHEMA_UNSUPPORTED", {
  exit: 2,
  description: "An input schema needs what is not supported: another document, or a pattern that can stall.",
});
