import type { JsonObject } from "../../core/mod.ts";
import type { Forming } from "./_normal-form.ts";

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
