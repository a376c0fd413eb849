import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { intersection, listOf, union } from "./_join.ts";
import { literalType, propertyName, widened } from "./_literals.ts";
import { keywordOf, outlineOf } from "./_outline.ts";
import { propertiesOf, resolveRef, schemasIn, typesOf, valuesOf } from "./_schema.ts";

/** How much of a schema is shown. */
export interface Detail {
  /** Levels of objects and lists; what is deeper is shown by its kind. */
  readonly depth: number;
  /** Properties of one object, values of one enum, branches of one union. */
  readonly items: number;
}

/** `anyOf` in `anyOf` and the like, which make no level of their own. */
const MAX_NESTING = 60;

/** The type of a schema, in as much detail as is asked for; nothing where that surely takes more than so many characters. */
export function render(
  schema: unknown,
  root: unknown,
  { depth, items }: Detail,
  maxLength: number,
): string | undefined {
  // References multiply what few nodes say. One takes a few characters, but for a choice of alike ones.
  let nodes = 100 + maxLength;
  let nesting = 0;
  /** The targets of references that are being shown right now: one that comes again has no end. */
  const open = new Set<unknown>();
  const type = typeOf(schema, depth);
  return nodes > 0 && type.length <= maxLength ? type : undefined;

  function typeOf(node: unknown, left: number): string {
    if (node === false) return "never";
    if (!isJsonObject(node)) return "unknown";
    if (--nodes <= 0) return "unknown";
    if (nesting >= MAX_NESTING) return outlineOf(node, root);
    nesting++;
    const type = joined(node, left);
    nesting--;
    return node["nullable"] === true ? union([type, "null"]) : type;
  }

  /** Everything that a schema says holds at once. */
  function joined(node: JsonObject, left: number): string {
    const values = valuesOf(node);
    if (values) return literals(values);
    const parts = [
      ...(Object.hasOwn(node, "$ref") ? [referred(node["$ref"], left)] : []),
      branches(node["anyOf"], left),
      branches(node["oneOf"], left),
      ...schemasIn(node["allOf"])
        .slice(0, items)
        .map((part) => typeOf(part, left)),
    ];
    const others = intersection(parts);
    const own = union(typesOf(node).map((type) => ownType(type, node, left)));
    // A bare "object" or "string" beside what says more adds nothing.
    return others !== "unknown" && /^\w+$/.test(own) ? others : intersection([own, others]);
  }

  function ownType(type: string, node: JsonObject, left: number): string {
    if (type === "object") return objectType(node, left);
    if (type === "array") return listType(node, left);
    return keywordOf(type);
  }

  function referred(ref: unknown, left: number): string {
    const target = resolveRef(ref, root);
    if (open.has(target)) return outlineOf(target, root);
    open.add(target);
    const type = typeOf(target, left);
    open.delete(target);
    return type;
  }

  function branches(list: unknown, left: number): string {
    const all = schemasIn(list);
    const shown = all.slice(0, items).map((branch) => typeOf(branch, left));
    return union([...shown, ...all.slice(items).map((branch) => outlineOf(branch, root))]);
  }

  function literals(values: readonly unknown[]): string {
    const hidden = values.slice(items);
    const shown = union(values.slice(0, items).map(literalType));
    if (hidden.length === 0) return shown;
    return `${shown} | /* ${hidden.length} more */ ${union(hidden.map(widened))}`;
  }

  function objectType(node: JsonObject, left: number): string {
    const all = propertiesOf(node);
    const { additionalProperties: others, patternProperties: patterns } = node;
    const rest = [
      ...(isJsonObject(others) ? [others] : []),
      ...(isJsonObject(patterns) ? Object.values(patterns) : []),
    ];
    if (all.length === 0 && rest.length === 0) return others === false ? "{}" : "object";
    if (left <= 0) return "object";
    const key = union(rest.slice(0, items).map((inner) => typeOf(inner, left - 1)));
    if (all.length === 0) return key === "unknown" ? "object" : `Record<string, ${key}>`;
    const shown =
      all.length <= items
        ? all
        : all.toSorted((a, b) => Number(b.required) - Number(a.required)).slice(0, items);
    const members = shown.map(
      ({ name, required, schema: inner }) =>
        `${propertyName(name)}${required ? "" : "?"}: ${typeOf(inner, left - 1)}`,
    );
    if (rest.length > 0) members.push(`[key: string]: ${key}`);
    const hidden = all.length - shown.length;
    return `{${members.join(", ")}${hidden > 0 ? `, /* ${hidden} more */` : ""}}`;
  }

  function listType(node: JsonObject, left: number): string {
    const { items: inner, prefixItems, additionalItems } = node;
    const isTuple = Array.isArray(prefixItems) || Array.isArray(inner);
    const [heads, tail] = Array.isArray(prefixItems)
      ? [prefixItems, inner]
      : [schemasIn(inner), isTuple ? additionalItems : inner];
    if (left <= 0) return outlineOf(node, root);
    if (!isTuple || heads.length > items) return listOf(typeOf(tail, left - 1));
    const rest = isJsonObject(tail) ? [`...${listOf(typeOf(tail, left - 1))}`] : [];
    return `[${[...heads.map((head: unknown) => typeOf(head, left - 1)), ...rest].join(", ")}]`;
  }
}
