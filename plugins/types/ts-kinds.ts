import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { isNothing, resolveRef, schemasIn, typesOf, valuesOf } from "../lib/schema/schema.ts";

/** References and choices are followed so far, and no further. */
const MAX_DEPTH = 20;
const MAX_NODES = 200;

const KINDS: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
  object: "object",
  array: "object",
};

/** The widest types of TypeScript that hold all that a schema allows; nothing where that may be anything. */
export function kindsOf(schema: unknown, root: unknown): ReadonlySet<string> | undefined {
  let nodes = 0;
  return kinds(schema, 0);

  function kinds(node: unknown, depth: number): Set<string> | undefined {
    if (isNothing(node)) return new Set();
    if (!isJsonObject(node) || depth > MAX_DEPTH || ++nodes > MAX_NODES) return;
    const values = valuesOf(node);
    if (values) return new Set(values.map((value) => (value === null ? "null" : typeof value)));
    const types = typesOf(node);
    if (types.length > 0) return new Set(types.map((type) => KINDS[type] ?? "object"));
    if (typeof node["$ref"] === "string") return kinds(resolveRef(node["$ref"], root), depth + 1);
    const branches = [...schemasIn(node["anyOf"]), ...schemasIn(node["oneOf"])];
    if (branches.length > 0) return together(branches.map((branch) => kinds(branch, depth + 1)));
    for (const part of schemasIn(node["allOf"])) {
      const own = kinds(part, depth + 1);
      if (own) return own;
    }
  }
}

function together(parts: readonly (Set<string> | undefined)[]): Set<string> | undefined {
  return parts.includes(undefined) ? undefined : new Set(parts.flatMap((part) => [...(part ?? [])]));
}

/** How many choices the types of the schemas of one root have: an intersection of such types multiplies them. */
export function widthsIn(root: unknown): (schema: unknown) => number {
  const known = new Map<unknown, number>();
  return (schema) => width(schema, 0);

  function width(node: unknown, depth: number): number {
    if (!isJsonObject(node) || depth > MAX_DEPTH) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    // What leads back to itself adds nothing.
    known.set(node, 1);
    const found = valuesOf(node)?.length ?? widthOfParts(node, depth);
    known.set(node, found);
    return found;
  }

  function widthOfParts(node: JsonObject, depth: number): number {
    const sum = (list: unknown): number =>
      schemasIn(list).reduce((total: number, branch) => total + width(branch, depth + 1), 0);
    const parts = [
      typesOf(node).length,
      sum(node["anyOf"]),
      sum(node["oneOf"]),
      ...schemasIn(node["allOf"]).map((part) => width(part, depth + 1)),
      typeof node["$ref"] === "string" ? width(resolveRef(node["$ref"], root), depth + 1) : 1,
    ];
    return parts.reduce((product, part) => Math.min(1e9, product * Math.max(1, part)), 1);
  }
}
