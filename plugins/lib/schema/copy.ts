import { format as formats, type Schema, Validator } from "@cfworker/json-schema";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { type Survey, survey } from "../json.ts";
import type { LinearPattern } from "../pattern.ts";
import { DATA, NAMED, scanSchema, tooComplex } from "./schema.ts";

/** References multiply nodes: a check stops after this many steps, before it takes noticeable time. */
const LEAST_STEPS = 50_000;
const STEPS_A_VALUE = 25;
const MOST_STEPS = 250_000;
/** Limit for patterns: length of the string times size of the pattern. */
const MAX_MATCHING = 9_000_000;
/** Longer lists are not checked for equal items: it takes the square of their length. */
const MAX_UNIQUE = 1_000;

// `__proto__` would replace the prototype that counts; the others belong to an older draft.
const DROPPED = new Set(["__proto__", "$recursiveRef", "$recursiveAnchor"]);

/** Patterns by their source; those that cannot be matched in linear time are not there. */
export type Patterns = ReadonlyMap<string, LinearPattern>;

/** Schema that is safe to check against. */
export interface SchemaCopy {
  /** Checks a value, within limits; throws where these are passed, or where the schema is none. */
  check(value: unknown): {
    readonly valid: boolean;
    /** Innermost error of the validator. */
    readonly fault?: { readonly instanceLocation: string; readonly keyword: string; readonly error: string };
  };
}

/**
 * Copies a schema so that no untrusted regular expression is run as such: patterns are matched in linear time.
 * One for which that cannot be done is left out, with what depends on it. That makes the check more lenient, never
 * stricter; the tool's server still makes the whole of it.
 */
export function copySchema(
  original: JsonObject,
  patterns: Patterns = new Map(),
  sources: ReadonlySet<string> = scanSchema(original),
): SchemaCopy {
  const hasUnchecked = [...sources].some((source) => !patterns.has(source));
  let validator: Validator | undefined;
  let steps = 0;
  let matching = 0;
  let current: Survey | undefined;
  const matchers: { readonly words: string; readonly test: (text: string) => boolean }[] = [];
  // The validator reads this property of every schema it enters.
  const counting: object = Object.create(Object.prototype, { $recursiveAnchor: { get: () => step(1) } });
  const schema = copy(original, false) as JsonObject;
  return {
    check(value) {
      validator ??= new Validator(schema as Schema, "2020-12");
      current = survey(value);
      steps = Math.max(0, MOST_STEPS - LEAST_STEPS - STEPS_A_VALUE * current.values);
      matching = 0;
      // Formats are the only hook of the validator for own tests. It runs synchronously, so no other check sees them.
      for (const [index, { test }] of matchers.entries()) formats[formatName(index)] = test;
      try {
        const { valid, errors } = validator.validate(value);
        // The last error is the innermost; those before it only report that an inner check failed.
        const last = errors.at(-1);
        return valid || !last ? { valid } : { valid, fault: { ...last, error: describeError(last.error) } };
      } finally {
        current = undefined;
        for (const index of matchers.keys()) delete formats[formatName(index)];
      }
    },
  };

  /** Quotes the schema as written in place of our format. */
  function describeError(error: string): string {
    return error.replace(
      /format "toolpipe:(\d+)"/,
      (whole, index) => matchers[Number(index)]?.words ?? whole,
    );
  }

  function step(count: number): void {
    steps += count;
    if (steps > MOST_STEPS) throw tooComplex();
  }

  function matches(pattern: LinearPattern, text: string): boolean {
    matching += pattern.cost(text.length);
    if (matching > MAX_MATCHING) throw tooComplex();
    return pattern.test(text);
  }

  function copy(value: unknown, named: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => copy(item, false));
    if (!isJsonObject(value)) return value;
    const result: JsonObject = Object.create(counting);
    for (const [key, inner] of Object.entries(value)) {
      if (DROPPED.has(key) || (!named && isLeftOut(key, value))) continue;
      if (!named && key === "uniqueItems") {
        const isUnique = (): boolean => inner === true && (current?.longestList ?? 0) <= MAX_UNIQUE;
        Object.defineProperty(result, key, { get: isUnique });
      } else {
        result[key] = !named && DATA.has(key) ? inner : copy(inner, !named && NAMED.has(key));
      }
    }
    if (named) return result;
    if (typeof value["pattern"] === "string") replacePattern(result, value["pattern"], value["format"]);
    if (isJsonObject(value["patternProperties"]))
      replacePatternProperties(result, value["patternProperties"]);
    if (isInteger(value["type"])) keepExact(result);
    return result;
  }

  /** Replaces a pattern by a test of our own. */
  function replacePattern(result: JsonObject, source: string, format: unknown): void {
    const pattern = patterns.get(source);
    if (!pattern) return;
    const other = typeof format === "string" && Object.hasOwn(formats, format) ? formats[format] : undefined;
    const words = `pattern ${JSON.stringify(source)}${other ? ` or format "${format}"` : ""}`;
    matchers.push({ words, test: (text) => matches(pattern, text) && (other?.(text) ?? true) });
    result["format"] = formatName(matchers.length - 1);
  }

  /** Replaces properties by pattern by properties by name, once the names are known. */
  function replacePatternProperties(result: JsonObject, given: JsonObject): void {
    const own = (result["properties"] ?? {}) as JsonObject;
    const byPattern = (result["patternProperties"] ?? {}) as JsonObject;
    const all = Object.keys(given).flatMap((source) => {
      const pattern = patterns.get(source);
      return pattern ? [{ pattern, schema: byPattern[source] }] : [];
    });
    let known: { readonly of: Survey; readonly properties: JsonObject; readonly size: number } | undefined;
    Object.defineProperty(result, "patternProperties", {
      enumerable: true,
      // Seen as the validator is made, so that references are found in them.
      get: () => (current ? undefined : byPattern),
    });
    Object.defineProperty(result, "properties", {
      enumerable: true,
      get() {
        if (!current) return own;
        if (known?.of !== current) known = { of: current, ...named(current.keys) };
        step(known.size);
        return known.properties;
      },
    });

    function named(keys: Iterable<string>): { properties: JsonObject; size: number } {
      const properties: JsonObject = Object.assign(Object.create(null), own);
      let size = 0;
      for (const key of keys) {
        const fitting = all.filter(({ pattern }) => matches(pattern, key)).map(({ schema }) => schema);
        if (fitting.length === 0) continue;
        size++;
        const allOf = Object.hasOwn(own, key) ? [own[key], ...fitting] : fitting;
        properties[key] = allOf.length === 1 ? allOf[0] : Object.assign(Object.create(counting), { allOf });
      }
      return { properties, size };
    }
  }

  /** Whether a keyword is a pattern that is not checked, or the opposite of one. */
  function isLeftOut(key: string, schema: JsonObject): boolean {
    if (key === "pattern") return true;
    // The one format whose check takes exponential time.
    if (key === "format") return schema[key] === "url";
    if (!hasUnchecked) return false;
    if (key === "additionalProperties") return isUnchecked("patternProperties", schema["patternProperties"]);
    if (key === "unevaluatedProperties" || key === "unevaluatedItems") return true;
    if (key === "not" || key === "oneOf") return mayBeUnchecked(schema[key]);
    if (key === "if" || key === "then" || key === "else") return mayBeUnchecked(schema["if"]);
    if (key === "maxContains") return mayBeUnchecked(schema["contains"]);
    return false;
  }

  function isUnchecked(key: string, value: unknown): boolean {
    if (key === "pattern") return !patterns.has(String(value));
    if (key !== "patternProperties" || !isJsonObject(value)) return false;
    return Object.keys(value).some((source) => !patterns.has(source));
  }

  /** A reference may lead to any schema, so it counts. So does a property of that name: too lenient beats too strict. */
  function mayBeUnchecked(value: unknown): boolean {
    if (Array.isArray(value)) return value.some(mayBeUnchecked);
    if (!isJsonObject(value)) return false;
    return Object.entries(value).some(
      ([key, inner]) => isUnchecked(key, inner) || key === "$ref" || mayBeUnchecked(inner),
    );
  }
}

function formatName(index: number): string {
  return `toolpipe:${index}`;
}

function isInteger(type: unknown): boolean {
  return Array.isArray(type) ? type.includes("integer") && !type.includes("number") : type === "integer";
}

/** A larger number was rounded when it was parsed: it is not the one that was sent. */
function keepExact(schema: JsonObject): void {
  const { minimum, maximum } = schema;
  schema["minimum"] = Math.max(typeof minimum === "number" ? minimum : -Infinity, Number.MIN_SAFE_INTEGER);
  schema["maximum"] = Math.min(typeof maximum === "number" ? maximum : Infinity, Number.MAX_SAFE_INTEGER);
}
