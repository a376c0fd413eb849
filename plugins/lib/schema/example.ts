import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { copySchema } from "./copy.ts";
import { getAllowedValues, getTypes, listSchemaProperties, resolveSchemaRef, toSchemas } from "./schema.ts";

const STYLES: readonly SampleStyle[] = [
  { optional: true, defaults: true },
  { optional: false, defaults: true },
  { optional: false, defaults: false },
];

/**
 * Creates a value that a schema allows: its author's example or default if there is one, else an invented one. Undefined
 * where none was found that the schema accepts.
 *
 * @example
 * ```ts
 * import { createExample } from "toolpipe/plugins/types";
 *
 * await createExample({ type: "object", properties: { repo: { type: "string", examples: ["owner/repo"] } } }); // { repo: "owner/repo" }
 * ```
 */
export async function createExample(schema: unknown): Promise<unknown> {
  if (!isJsonObject(schema)) return;
  const matches = await createPatternCheck(schema);
  try {
    const copy = copySchema(schema);
    for (const style of STYLES) {
      const value = createSample(schema, style, matches);
      if (value !== undefined && copy.check(value).valid) return value;
    }
  } catch {
    // The schema is too complex, or no schema at all.
  }
}

/** Patterns are untrusted, so they need an engine that cannot stall. It is loaded for the first pattern. */
async function createPatternCheck(schema: object): Promise<PatternCheck> {
  if (!JSON.stringify(schema).includes('"pattern"')) return () => true;
  const { RE2JS } = await import("re2js");
  return (pattern, text) => {
    try {
      return RE2JS.compile(RE2JS.translateRegExp(pattern)).test(text);
    } catch {
      // It looks ahead or back, which such an engine does not.
      return undefined;
    }
  };
}

interface SampleStyle {
  /** Whether optional properties with an example of their own are included. */
  readonly optional: boolean;
  /** Whether defaults are used as examples; some violate their own schema. */
  readonly defaults: boolean;
}

/** Deeper schemas have no end. */
const MAX_DEPTH = 12;
const MAX_ITEMS = 20;

/** Creates a value that a schema probably allows; undefined if none was found. */
function createSample(root: unknown, style: SampleStyle, matches: PatternCheck): unknown {
  return sample(root, "", 0);

  function sample(schema: unknown, name: string, depth: number): unknown {
    if (schema === true) return name || "text";
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return;
    const told = findGivenValue(schema);
    if (told !== undefined) return told;
    if (Object.hasOwn(schema, "$ref")) return sample(resolveSchemaRef(schema["$ref"], root), name, depth + 1);
    const branch = chooseBranch(schema);
    const parts = [...toSchemas(schema["allOf"]), ...(branch === undefined ? [] : [branch])];
    const own = ownSample(schema, name, depth);
    const others = parts.map((part) => sample(part, name, depth + 1));
    const objects = [own, ...others].filter(isJsonObject);
    if (objects.length > 1) return Object.assign({}, ...objects);
    const isBare = getTypes(schema).length === 0 || (isJsonObject(own) && Object.keys(own).length === 0);
    return isBare ? (others.find((value) => value !== undefined) ?? own) : own;
  }

  /** Returns a value that the author of a schema gives. */
  function findGivenValue(schema: JsonObject): unknown {
    const { examples, example, default: byDefault } = schema;
    const told = Array.isArray(examples) && examples.length > 0 ? examples[0] : example;
    if (told !== undefined) return told;
    if (style.defaults && byDefault !== undefined && byDefault !== null && byDefault !== "") return byDefault;
    return getAllowedValues(schema)?.find((value) => value !== null && value !== "");
  }

  function ownSample(schema: JsonObject, name: string, depth: number): unknown {
    const types = getTypes(schema);
    const type = types.find((one) => one !== "null") ?? types[0];
    if (type === "string") return textSample(schema, name, matches);
    if (type === "number" || type === "integer") return numberSample(schema, type === "integer");
    if (type === "boolean") return true;
    if (type === "null") return null;
    if (type === "array") return listSample(schema, name, depth);
    if (type === "object") return objectSample(schema, depth);
    const isSilent = ["$ref", "anyOf", "oneOf", "allOf"].every((word) => !Object.hasOwn(schema, word));
    return isSilent ? name || "text" : undefined;
  }

  function objectSample(schema: JsonObject, depth: number): JsonObject | undefined {
    const result: JsonObject = {};
    for (const { name, schema: inner, required } of listSchemaProperties(schema)) {
      const hasOwn = isJsonObject(inner) && ("examples" in inner || "example" in inner);
      if (!required && !(style.optional && hasOwn)) continue;
      const value = sample(inner, name, depth + 1);
      if (value === undefined && required) return;
      if (value !== undefined) Object.defineProperty(result, name, { value, enumerable: true });
    }
    return result;
  }

  function listSample(schema: JsonObject, name: string, depth: number): unknown[] | undefined {
    const { items, prefixItems, minItems, maxItems } = schema;
    const heads = Array.isArray(prefixItems) ? prefixItems : toSchemas(items);
    const least = typeof minItems === "number" ? minItems : 0;
    if (least > MAX_ITEMS || maxItems === 0) return least > MAX_ITEMS ? undefined : [];
    const inner = Array.isArray(items) ? [] : [items ?? true];
    const length = Math.max(least, heads.length, 1);
    const values = Array.from({ length }, (_, index) => sample(heads[index] ?? inner[0], name, depth + 1));
    return values.includes(undefined) ? (least === 0 ? [] : undefined) : values;
  }
}

function chooseBranch(schema: JsonObject): unknown {
  const branches = [...toSchemas(schema["anyOf"]), ...toSchemas(schema["oneOf"])];
  return branches.find((branch) => !isJsonObject(branch) || branch["type"] !== "null");
}

function numberSample(schema: JsonObject, isWhole: boolean): number {
  const bound = (word: string): number | undefined => {
    const value = schema[word];
    return typeof value === "number" ? value : undefined;
  };
  const step = bound("multipleOf") ?? 1;
  const above = bound("exclusiveMinimum");
  const least = bound("minimum") ?? (above === undefined ? undefined : above + (isWhole ? 1 : step));
  const most = bound("maximum") ?? bound("exclusiveMaximum");
  const wanted = Math.max(least ?? 1, most !== undefined && most < 1 ? (least ?? most) : 1);
  const stepped = Math.ceil(wanted / step) * step;
  const value = most !== undefined && stepped > most ? most : stepped;
  return isWhole ? Math.ceil(value) : value;
}

/** Whether a string matches the `pattern` of a schema; undefined if the engine cannot tell. */
type PatternCheck = (pattern: string, text: string) => boolean | undefined;

/** Samples by `format`, or by a word in the name of the parameter. */
const KNOWN: readonly (readonly [format: string, name: RegExp, sample: string])[] = [
  ["email", /e-?mail/i, "user@example.com"],
  ["uri", /url|uri|link|website/i, "https://example.com"],
  ["date-time", /timestamp|date_?time/i, "2025-01-31T09:30:00Z"],
  ["date", /date|day/i, "2025-01-31"],
  ["time", /^time$/i, "09:30:00Z"],
  ["uuid", /uuid|guid/i, "3f2504e0-4f89-41d3-9a0c-0305e82c3301"],
  ["ipv4", /^ip(_address|Address)?$/i, "192.0.2.1"],
  ["ipv6", /ipv6/i, "2001:db8::1"],
  ["hostname", /host(name)?$|domain/i, "example.com"],
  ["duration", /duration/i, "PT1H"],
  ["json-pointer", /json_?pointer/i, "/name"],
];

const GUESSES =
  "example 1 abc123 ABC AB12 1a2b3c4d #1a2b3c 1.0.0 09:30 +15555550100 owner/repo https://example.com".split(
    " ",
  );

/** Matches an example in a description: `(e.g. "this")`. */
const IN_WORDS = /(?:e\.g\.|for example|such as|example|like)[,:]?\s*(?:(["'`])([^"'`\n]{1,60})\1)/i;

/** Creates a string that a schema allows, as close to a real one as its description tells; undefined if none was found. */
function textSample(schema: JsonObject, name: string, matches: PatternCheck): string | undefined {
  const { pattern, format, description } = schema;
  const told = typeof description === "string" ? IN_WORDS.exec(description.slice(0, 1000))?.[2] : undefined;
  const byFormat = KNOWN.filter(([known]) => known === (format === "url" ? "uri" : format));
  const byName = KNOWN.filter(([, word]) => word.test(name));
  const samples = [...byFormat, ...byName].map(([, , sample]) => sample);
  const likely = byFormat.length > 0 ? samples : [...(told ? [told] : []), ...samples, name || "text"];
  const all =
    typeof pattern === "string" ? [...likely, ...KNOWN.map(([, , sample]) => sample), ...GUESSES] : likely;
  return all
    .map((text) => fitLength(text, schema))
    .find((text) => typeof pattern !== "string" || (matches(pattern, text) ?? byFormat.length > 0));
}

function fitLength(text: string, { minLength, maxLength }: JsonObject): string {
  const least = typeof minLength === "number" ? Math.min(minLength, 1000) : 0;
  const most = typeof maxLength === "number" ? maxLength : text.length + least;
  return text.padEnd(least, text || "x").slice(0, Math.max(0, most));
}
