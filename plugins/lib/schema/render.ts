import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { propertiesOf, resolveRef, schemasIn, typesOf, valuesOf } from "./schema.ts";

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

/** Types joined by `|`, each once. One that allows everything leaves nothing to say. */
export function union(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type, _, all) => type !== "never" || all.length === 1);
  if (distinct.length === 0 || distinct.includes("unknown")) return "unknown";
  return distinct.join(" | ");
}

/** Types joined by `&`, each once. One that says nothing is left out. */
export function intersection(types: readonly string[]): string {
  const telling = [...new Set(types)].filter((type) => type !== "unknown");
  if (telling.length <= 1) return telling[0] ?? "unknown";
  return telling.map((type) => (isJoined(type) ? `(${type})` : type)).join(" & ");
}

/** The type of a list of such items. */
export function listOf(item: string): string {
  return isJoined(item) ? `(${item})[]` : `${item}[]`;
}

/** Whether a type is several ones joined, and not only holds such inside of it. */
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

/** A longer text is shown as `string`. */
const LONGEST_TEXT = 60;

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** A JSON value as a literal type: a text in single quotes, which cost nothing inside JSON. */
export function literalType(value: unknown): string {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? quoted(value) : "string";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  if (typeof value === "boolean" || value === null) return String(value);
  return widened(value);
}

/** The type that a literal belongs to. */
export function widened(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "unknown[]";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object" ? type : "unknown";
}

/** The name of a property as it stands in a type. */
export function propertyName(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  // The two line ends that JSON allows in a text and a program need not.
  return `'${escaped.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}'`;
}
