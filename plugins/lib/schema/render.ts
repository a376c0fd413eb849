import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { getAllowedValues, getTypes, listSchemaProperties, resolveSchemaRef, toSchemas } from "./schema.ts";

/** Detail of a rendered type. */
export interface Detail {
  /** Levels of objects and lists; deeper levels are rendered as their kind. */
  readonly depth: number;
  /** Properties of one object, values of one enum, branches of one union. */
  readonly items: number;
}

/** Limit of nested unions and the like, which add no level. */
const MAX_NESTING = 60;

/** Renders a schema as a type; undefined if it takes more characters than allowed. */
export function render(
  schema: unknown,
  root: unknown,
  { depth, items }: Detail,
  maxLength: number,
): string | undefined {
  // References multiply what few nodes say. One takes a few characters, but for a choice of alike ones.
  let nodes = 100 + maxLength;
  let nesting = 0;
  /** Targets of references that are being rendered: one that recurs has no end. */
  const open = new Set<unknown>();
  const type = renderType(schema, depth);
  return nodes > 0 && type.length <= maxLength ? type : undefined;

  function renderType(node: unknown, left: number): string {
    if (node === false) return "never";
    if (!isJsonObject(node)) return "unknown";
    if (--nodes <= 0) return "unknown";
    if (nesting >= MAX_NESTING) return renderOutline(node, root);
    nesting++;
    const type = renderNode(node, left);
    nesting--;
    return node["nullable"] === true ? union([type, "null"]) : type;
  }

  /** Joins everything that a schema requires. */
  function renderNode(node: JsonObject, left: number): string {
    const values = getAllowedValues(node);
    if (values) return literals(values);
    const parts = [
      ...(Object.hasOwn(node, "$ref") ? [renderReference(node["$ref"], left)] : []),
      branches(node["anyOf"], left),
      branches(node["oneOf"], left),
      ...toSchemas(node["allOf"])
        .slice(0, items)
        .map((part) => renderType(part, left)),
    ];
    const others = intersection(parts);
    const own = union(getTypes(node).map((type) => ownType(type, node, left)));
    // A bare "object" or "string" beside a more precise type is redundant.
    return others !== "unknown" && /^\w+$/.test(own) ? others : intersection([own, others]);
  }

  function ownType(type: string, node: JsonObject, left: number): string {
    if (type === "object") return objectType(node, left);
    if (type === "array") return listType(node, left);
    return toTypeKeyword(type);
  }

  function renderReference(ref: unknown, left: number): string {
    const target = resolveSchemaRef(ref, root);
    if (open.has(target)) return renderOutline(target, root);
    open.add(target);
    const type = renderType(target, left);
    open.delete(target);
    return type;
  }

  function branches(list: unknown, left: number): string {
    const all = toSchemas(list);
    const shown = all.slice(0, items).map((branch) => renderType(branch, left));
    return union([...shown, ...all.slice(items).map((branch) => renderOutline(branch, root))]);
  }

  function literals(values: readonly unknown[]): string {
    const hidden = values.slice(items);
    const shown = union(values.slice(0, items).map(literalType));
    if (hidden.length === 0) return shown;
    return `${shown} | /* ${hidden.length} more */ ${union(hidden.map(widenLiteral))}`;
  }

  function objectType(node: JsonObject, left: number): string {
    const all = listSchemaProperties(node);
    const { additionalProperties: others, patternProperties: patterns } = node;
    const rest = [
      ...(isJsonObject(others) ? [others] : []),
      ...(isJsonObject(patterns) ? Object.values(patterns) : []),
    ];
    if (all.length === 0 && rest.length === 0) return others === false ? "{}" : "object";
    if (left <= 0) return "object";
    const key = union(rest.slice(0, items).map((inner) => renderType(inner, left - 1)));
    if (all.length === 0) return key === "unknown" ? "object" : `Record<string, ${key}>`;
    const shown =
      all.length <= items
        ? all
        : all.toSorted((a, b) => Number(b.required) - Number(a.required)).slice(0, items);
    const members = shown.map(
      ({ name, required, schema: inner }) =>
        `${propertyName(name)}${required ? "" : "?"}: ${renderType(inner, left - 1)}`,
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
      : [toSchemas(inner), isTuple ? additionalItems : inner];
    if (left <= 0) return renderOutline(node, root);
    if (!isTuple || heads.length > items) return toListType(renderType(tail, left - 1));
    const rest = isJsonObject(tail) ? [`...${toListType(renderType(tail, left - 1))}`] : [];
    return `[${[...heads.map((head: unknown) => renderType(head, left - 1)), ...rest].join(", ")}]`;
  }
}

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

function toTypeKeyword(type: string): string {
  return Object.hasOwn(KEYWORDS, type) ? (KEYWORDS[type] as string) : "unknown";
}

/** Renders the kind of a schema without its content: `object`, `string[]`. */
export function renderOutline(schema: unknown, root: unknown): string {
  let nodes = 0;
  return union(kinds(schema, 0));

  function kinds(node: unknown, depth: number): string[] {
    if (node === false) return ["never"];
    if (!isJsonObject(node) || depth > MAX_DEPTH || ++nodes > MAX_NODES) return ["unknown"];
    const own = ownKinds(node, depth);
    if (own.length > 0) return node["nullable"] === true ? [...own, "null"] : own;
    if (Object.hasOwn(node, "$ref")) return kinds(resolveSchemaRef(node["$ref"], root), depth + 1);
    const branches = [...toSchemas(node["anyOf"]), ...toSchemas(node["oneOf"])];
    if (branches.length > 0) return branches.flatMap((branch) => kinds(branch, depth + 1));
    return [intersection(toSchemas(node["allOf"]).map((part) => union(kinds(part, depth + 1))))];
  }

  function ownKinds(node: JsonObject, depth: number): string[] {
    const values = getAllowedValues(node);
    if (values) return values.map(widenLiteral);
    return getTypes(node).map((type) => {
      if (type !== "array") return toTypeKeyword(type);
      const { items } = node;
      return toListType(Array.isArray(items) ? "unknown" : union(kinds(items, depth + 1)));
    });
  }
}

/** Joins types by `|`, each once. `unknown` absorbs the others. */
function union(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type, _, all) => type !== "never" || all.length === 1);
  if (distinct.length === 0 || distinct.includes("unknown")) return "unknown";
  return distinct.join(" | ");
}

/** Joins types by `&`, each once, without `unknown`. */
function intersection(types: readonly string[]): string {
  const telling = [...new Set(types)].filter((type) => type !== "unknown");
  if (telling.length <= 1) return telling[0] ?? "unknown";
  return telling.map((type) => (isJoined(type) ? `(${type})` : type)).join(" & ");
}

function toListType(item: string): string {
  return isJoined(item) ? `(${item})[]` : `${item}[]`;
}

/** Whether a type is a union or intersection at its top level. */
function isJoined(type: string): boolean {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < type.length; index++) {
    const character = type[index] as string;
    if (isText && character === "\\") index++;
    else if (character === "'") isText = !isText;
    else if (isText) continue;
    else if ("{[(<".includes(character)) depth++;
    else if ("}])>".includes(character)) depth--;
    else if (depth === 0 && (character === "|" || character === "&")) return true;
  }
  return false;
}

/** Longer strings are rendered as `string`. */
const LONGEST_TEXT = 60;

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** Renders a JSON value as a literal type. Strings are in single quotes, which need no escape inside JSON. */
function literalType(value: unknown): string {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? quote(value) : "string";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  if (typeof value === "boolean" || value === null) return String(value);
  return widenLiteral(value);
}

function widenLiteral(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "unknown[]";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object" ? type : "unknown";
}

/** Quotes the name of a property if it is no identifier. */
export function propertyName(name: string): string {
  return PLAIN_NAME.test(name) ? name : quote(name);
}

function quote(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  // The two line ends that JSON allows in strings, but a program may not.
  return `'${escaped.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}'`;
}
