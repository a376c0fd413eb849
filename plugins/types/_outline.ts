import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { intersection, listOf, union } from "./_join.ts";
import { widened } from "./_literals.ts";
import { resolveRef, schemasIn, typesOf, valuesOf } from "./_schema.ts";

/** So many schemas are looked at, and no more: an outline is what is left when a type is too long. */
const MAX_NODES = 50;
const MAX_DEPTH = 6;

const KEYWORDS: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
  object: "object",
};

/** A type of a JSON Schema, other than a list, as TypeScript names it. */
export function keywordOf(type: string): string {
  return Object.hasOwn(KEYWORDS, type) ? (KEYWORDS[type] as string) : "unknown";
}

/** What kind of thing a schema describes, without what is inside of it: `object`, `string[]`. */
export function outlineOf(schema: unknown, root: unknown): string {
  let nodes = 0;
  return union(kinds(schema, 0));

  function kinds(node: unknown, depth: number): string[] {
    if (node === false) return ["never"];
    if (!isJsonObject(node) || depth > MAX_DEPTH || ++nodes > MAX_NODES) return ["unknown"];
    const own = ownKinds(node, depth);
    if (own.length > 0) return node["nullable"] === true ? [...own, "null"] : own;
    if (Object.hasOwn(node, "$ref")) return kinds(resolveRef(node["$ref"], root), depth + 1);
    const branches = [...schemasIn(node["anyOf"]), ...schemasIn(node["oneOf"])];
    if (branches.length > 0) return branches.flatMap((branch) => kinds(branch, depth + 1));
    return [intersection(schemasIn(node["allOf"]).map((part) => union(kinds(part, depth + 1))))];
  }

  function ownKinds(node: JsonObject, depth: number): string[] {
    const values = valuesOf(node);
    if (values) return values.map(widened);
    return typesOf(node).map((type) => {
      if (type !== "array") return keywordOf(type);
      const { items } = node;
      return listOf(Array.isArray(items) ? "unknown" : union(kinds(items, depth + 1)));
    });
  }
}
