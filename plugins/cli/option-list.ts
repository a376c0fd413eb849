import * as v from "valibot";

/** One option of a plugin for help and documentation. */
export interface OptionRow {
  readonly name: string;
  /** In the notation of TypeScript, on one line. */
  readonly type: string;
  /** As JSON; absent where the option has no default. */
  readonly default?: string;
  readonly isRequired: boolean;
  readonly description?: string;
}

/** The parts of valibot's schemas that are read here. */
type Node = v.GenericSchema & {
  readonly pipe?: readonly unknown[];
  readonly entries?: Readonly<Record<string, Node>>;
  readonly options?: readonly unknown[];
  readonly wrapped?: Node;
  readonly default?: unknown;
  readonly literal?: unknown;
  readonly item?: Node;
  readonly items?: readonly Node[];
  readonly key?: Node;
  readonly value?: Node;
};

/** Lists the options that a schema declares, in its order. */
export function listOptions(schema: v.GenericSchema): OptionRow[] {
  return Object.entries((schema as Node).entries ?? {}).map(([name, entry]) => {
    const fallback = (entry as { readonly default?: unknown }).default;
    const description = findDescription(entry);
    return {
      name,
      type: renderType(entry),
      isRequired: !isOptional(entry),
      ...(fallback !== undefined && typeof fallback !== "function" && { default: JSON.stringify(fallback) }),
      ...(description !== undefined && { description }),
    };
  });
}

/** Returns the paths of all fields without a description, those of nested objects included. */
export function listUndescribed(schema: v.GenericSchema, path = ""): string[] {
  const node = schema as Node;
  const inner = [
    node.wrapped,
    node.item,
    node.value,
    ...(node.type === "picklist" ? [] : (node.options ?? [])),
  ];
  const fields = Object.entries(node.entries ?? {}).flatMap(([name, entry]) => {
    const own = path === "" ? name : `${path}.${name}`;
    // The tag of a union needs no description.
    const isTag = (unwrap(entry).type as string) === "literal";
    return [...(findDescription(entry) === undefined && !isTag ? [own] : []), ...listUndescribed(entry, own)];
  });
  return [
    ...new Set([...fields, ...inner.flatMap((one) => (one ? listUndescribed(one as Node, path) : []))]),
  ];
}

/**
 * Writes the input type of a schema in TypeScript. With an indent, objects take several lines, with descriptions as doc
 * comments. Code that JSON cannot hold is `unknown`, or `object` beside other alternatives, so that these are still
 * completed.
 */
export function renderType(schema: v.GenericSchema, indent?: string): string {
  const node = schema as Node;
  const inner = (one: unknown): string => renderType(one as Node, indent);
  const fixed = indent === undefined ? "" : "readonly ";
  switch (node.type as string) {
    case "string":
    case "number":
    case "boolean":
    case "null":
      return node.type;
    case "literal":
      return JSON.stringify(node.literal);
    case "picklist":
      return union((node.options ?? []).map((option) => JSON.stringify(option)));
    case "optional":
    case "nullish":
    case "undefinedable":
    case "non_optional":
      return inner(node.wrapped);
    case "nullable":
      return union([inner(node.wrapped), "null"]);
    case "array":
      return `${fixed}${grouped(inner(node.item))}[]`;
    case "tuple":
    case "strict_tuple":
      return `${fixed}[${(node.items ?? []).map(inner).join(", ")}]`;
    case "record":
      return `{ ${fixed}[name: string]: ${inner(node.value)} }`;
    case "union":
    case "variant":
      return union((node.options ?? []).map(inner).map((type) => (type === "unknown" ? "object" : type)));
    case "intersect":
      return (node.options ?? []).map(inner).map(grouped).join(" & ");
    case "object":
    case "strict_object":
    case "loose_object":
      return renderObject(node, indent);
    default:
      return "unknown";
  }
}

function renderObject({ entries = {}, type }: Node, indent: string | undefined): string {
  const isLong = indent !== undefined;
  const deeper = isLong ? `${indent}  ` : undefined;
  const members = Object.entries(entries).map(([name, entry]) => {
    const value = renderType(entry, deeper);
    const field = `${quoteName(name)}${isOptional(entry) ? "?" : ""}: ${value}`;
    if (deeper === undefined) return field;
    const orAbsent = isOptional(entry) && value !== "unknown" ? " | undefined" : "";
    return `${renderDocComment(entry, deeper)}readonly ${field}${orAbsent};`;
  });
  if ((type as string) === "loose_object")
    members.push(isLong ? "readonly [name: string]: unknown;" : "[name: string]: unknown");
  if (members.length === 0) return isLong ? "Record<never, never>" : "{}";
  if (!isLong) return `{ ${members.join("; ")} }`;
  return `{\n${members.map((member) => `${deeper}${member}\n`).join("")}${indent}}`;
}

/** Puts a property name in quotes where it is no identifier. */
export function quoteName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Renders a doc comment with description and default, ending with the indent of the next line. */
export function renderDocComment(schema: v.GenericSchema, indent: string): string {
  const { default: fallback } = schema as { readonly default?: unknown };
  const description = findDescription(schema as Node);
  const lines = [
    ...(description === undefined ? [] : description.split("\n")),
    ...(fallback === undefined || typeof fallback === "function"
      ? []
      : [`@default ${JSON.stringify(fallback)}`]),
  ].map((line) => line.replaceAll("*/", "*\\/"));
  if (lines.length === 0) return "";
  if (lines.length === 1) return `/** ${lines[0]} */\n${indent}`;
  return `/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n${indent}`;
}

function findDescription(schema: Node): string | undefined {
  return v.getDescription(schema) ?? (schema.wrapped && findDescription(schema.wrapped));
}

function isOptional({ type }: Node): boolean {
  return ["optional", "nullish", "undefinedable", "exact_optional"].includes(type as string);
}

function unwrap(schema: Node): Node {
  return schema.wrapped ? unwrap(schema.wrapped) : schema;
}

/** Joins types, literals first. A plain `string` beside them would keep an editor from completing them. */
function union(types: readonly string[]): string {
  const all = [...new Set(types.flatMap((type) => (/[{([]/.test(type) ? [type] : type.split(" | "))))];
  if (all.includes("unknown")) return "unknown";
  const rank = (type: string): number => (type.startsWith('"') ? 0 : type === "object" ? 2 : 1);
  const hasLiterals = all.some((type) => rank(type) === 0);
  return all
    .toSorted((a, b) => rank(a) - rank(b))
    .map((type) => (type === "string" && hasLiterals ? "(string & Record<never, never>)" : type))
    .join(" | ");
}

function grouped(type: string): string {
  return /^readonly |[|&]/.test(type.replaceAll(/\{.*\}|\(.*\)/gs, "")) ? `(${type})` : type;
}
