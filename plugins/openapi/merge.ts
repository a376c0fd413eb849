import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { follow, toEntries } from "./document.ts";

/** Keywords of an object schema that can be joined with those of another. */
const JOINED = new Set(["type", "properties", "required", "additionalProperties", "allOf", "nullable"]);
/** Keywords that restrict no value. */
const ANNOTATIONS = new Set(
  "$ref title description example examples default deprecated discriminator xml externalDocs readOnly writeOnly minProperties".split(
    " ",
  ),
);
const MAX_PARTS = 100;

/**
 * Merges a schema with `allOf` into one object schema, in the dialect of the document. Returns undefined if a part has
 * more than properties.
 */
export function mergeAllOf(root: JsonObject, node: JsonObject): JsonObject | undefined {
  const parts: JsonObject[] = [];
  if (!collect(node, new Set()) || parts.length === 0) return undefined;
  const properties = new Map<string, unknown>();
  const required = new Set<unknown>();
  for (const part of parts) {
    for (const [name, inner] of toEntries(part["properties"])) {
      const other = properties.get(name);
      // Both must hold; if they are equal, or one is empty, one of them is enough.
      properties.set(
        name,
        other === undefined || other === inner || isSame(other, inner) ? inner : joinSchemas(other, inner),
      );
    }
    if (Array.isArray(part["required"])) for (const name of part["required"]) required.add(name);
  }
  const description = parts.map((part) => part["description"]).find((text) => typeof text === "string");
  return {
    type: "object",
    ...(description !== undefined && { description }),
    properties: Object.fromEntries(properties),
    ...(required.size > 0 && { required: [...required] }),
    ...(node["nullable"] === true && { nullable: true }),
    ...(node["x-nullable"] === true && { "x-nullable": true }),
  };

  /** Collects the parts, outermost first. Returns false if one cannot be joined. */
  function collect(given: unknown, path: Set<unknown>): boolean {
    const part = follow(root, given);
    if (!isJsonObject(part) || path.has(part) || parts.length > MAX_PARTS) return false;
    const { type, additionalProperties } = part;
    if (type !== undefined && type !== "object") return false;
    if (isJsonObject(additionalProperties)) return false;
    for (const word of Object.keys(part)) {
      if (!JOINED.has(word) && !ANNOTATIONS.has(word) && !word.startsWith("x-")) return false;
    }
    parts.push(part);
    const { allOf } = part;
    if (!Array.isArray(allOf)) return true;
    return allOf.every((inner) => collect(inner, new Set(path).add(part)));
  }
}

function joinSchemas(one: unknown, other: unknown): unknown {
  if (isJsonObject(one) && Object.keys(one).length === 0) return other;
  if (isJsonObject(other) && Object.keys(other).length === 0) return one;
  return { allOf: [one, other] };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
