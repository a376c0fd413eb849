import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  allowsNothing,
  getAllowedValues,
  getTypes,
  listSchemaProperties,
  resolveSchemaRef,
  toSchemas,
} from "../lib/schema/schema.ts";
import { quote, quoteProperty, toDocComment } from "./source-text.ts";

/** Style of the members of an object. */
interface MemberStyle {
  readonly indent: string;
  /** Whether descriptions stay, as comments. */
  readonly docs: boolean;
  /** Writes the type of a schema. */
  write(schema: unknown): string;
  /** Subtracts the length of a string from the limit, and returns it. */
  spend(text: string): string;
}

/** Patterns that every key matches. */
const EVERY_KEY = new Set(["", ".*", ".+", "^.*$", "^.+$", "^.*", "^.+", ".*$"]);
/** Pattern that is only a prefix of keys. */
const PREFIX = /^\^([\w-]+)(?:\.[*+]\$?)?$/;

/** Writes the members of an object, each with its `;`. */
export function writeMembers(node: JsonObject, root: JsonObject, style: MemberStyle): string[] {
  const { indent, docs, write, spend } = style;
  const known = listSchemaProperties(node);
  const names = new Set(known.map(({ name }) => name));
  const unnamed = toSchemas(node["required"]).filter((name) => !names.has(String(name)));
  const other = readOtherKeys(node);
  const members = known.map(({ name, required, schema }) => {
    const doc = docs && isJsonObject(schema) ? spend(toDocComment(schema["description"], indent)) : "";
    return `${doc}${indent}${spend(quoteProperty(name))}${required ? "" : "?"}: ${write(schema)};`;
  });
  const rest = other.all.length > 0 ? other.all : [true];
  for (const name of unnamed)
    members.push(`${indent}${quoteProperty(String(name))}: ${joinTypes(rest.map(write))};`);
  if (other.all.length === 0 && other.prefixes.length === 0) {
    if (members.length === 0) members.push(`${indent}[key: string]: never;`);
    return members;
  }
  // The type of an index signature must include those of the named keys.
  const beside = known.flatMap(({ schema, required }) => [
    ...(findKinds(schema, root) ?? ["unknown"]),
    ...(required ? [] : ["undefined"]),
  ]);
  const types = joinTypes([...other.all.map(write), ...beside]);
  const prefixed = joinTypes([...other.prefixes.map(([, schema]) => write(schema)), ...beside]);
  for (const [prefix] of other.prefixes)
    members.push(`${indent}[key: \`${prefix}\${string}\`]: ${prefixed};`);
  if (other.all.length > 0) {
    const doc = docs ? toDocComment(other.remark, indent) : "";
    members.push(`${doc}${indent}[key: string]: ${types};`);
  }
  return members;
}

interface OtherKeys {
  /** Schemas of keys that are not named. */
  readonly all: readonly unknown[];
  /** Schemas of keys with a prefix. */
  readonly prefixes: readonly (readonly [prefix: string, schema: unknown])[];
  /** Note about keys that no type can express. */
  readonly remark?: string;
}

function readOtherKeys(node: JsonObject): OtherKeys {
  const { additionalProperties = true, patternProperties } = node;
  const patterns = isJsonObject(patternProperties) ? Object.entries(patternProperties) : [];
  const every = patterns.filter(([pattern]) => EVERY_KEY.has(pattern)).map(([, schema]) => schema);
  if (every.length > 0) return { all: every.slice(0, 1), prefixes: [] };
  const isOpen = additionalProperties === true;
  if (!isOpen) {
    const others = additionalProperties === false ? [] : [additionalProperties];
    return { all: [...others, ...patterns.map(([, schema]) => schema)], prefixes: [] };
  }
  const prefixes = patterns.flatMap(([pattern, schema]) => {
    const prefix = PREFIX.exec(pattern)?.[1];
    return prefix === undefined ? [] : [[prefix, schema] as const];
  });
  const others = patterns.map(([pattern]) => pattern).filter((pattern) => !PREFIX.test(pattern));
  const remark =
    others.length > 0
      ? { remark: `Keys that match ${others.map(quote).join(", ")} hold something of their own.` }
      : {};
  return { all: [true], prefixes, ...remark };
}

function joinTypes(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== "never");
  if (distinct.includes("unknown")) return "unknown";
  return distinct.length > 0 ? distinct.join(" | ") : "never";
}

/** Limits of following references and choices. */
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

/** Finds the widest types of TypeScript that cover a schema; undefined if it allows anything. */
export function findKinds(schema: unknown, root: unknown): ReadonlySet<string> | undefined {
  let nodes = 0;
  return kinds(schema, 0);

  function kinds(node: unknown, depth: number): Set<string> | undefined {
    if (allowsNothing(node)) return new Set();
    if (!isJsonObject(node) || depth > MAX_DEPTH || ++nodes > MAX_NODES) return;
    const values = getAllowedValues(node);
    if (values) return new Set(values.map((value) => (value === null ? "null" : typeof value)));
    const types = getTypes(node);
    if (types.length > 0) return new Set(types.map((type) => KINDS[type] ?? "object"));
    if (typeof node["$ref"] === "string") return kinds(resolveSchemaRef(node["$ref"], root), depth + 1);
    const branches = [...toSchemas(node["anyOf"]), ...toSchemas(node["oneOf"])];
    if (branches.length > 0) return mergeKinds(branches.map((branch) => kinds(branch, depth + 1)));
    for (const part of toSchemas(node["allOf"])) {
      const own = kinds(part, depth + 1);
      if (own) return own;
    }
  }
}

function mergeKinds(parts: readonly (Set<string> | undefined)[]): Set<string> | undefined {
  return parts.includes(undefined) ? undefined : new Set(parts.flatMap((part) => [...(part ?? [])]));
}

/** Creates a counter of the choices in a schema's type: an intersection of unions multiplies them. */
export function createWidthCounter(root: unknown): (schema: unknown) => number {
  const known = new Map<unknown, number>();
  return (schema) => width(schema, 0);

  function width(node: unknown, depth: number): number {
    if (!isJsonObject(node) || depth > MAX_DEPTH) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    // A recursive reference adds nothing.
    known.set(node, 1);
    const found = getAllowedValues(node)?.length ?? countParts(node, depth);
    known.set(node, found);
    return found;
  }

  function countParts(node: JsonObject, depth: number): number {
    const sum = (list: unknown): number =>
      toSchemas(list).reduce((total: number, branch) => total + width(branch, depth + 1), 0);
    const parts = [
      getTypes(node).length,
      sum(node["anyOf"]),
      sum(node["oneOf"]),
      ...toSchemas(node["allOf"]).map((part) => width(part, depth + 1)),
      typeof node["$ref"] === "string" ? width(resolveSchemaRef(node["$ref"], root), depth + 1) : 1,
    ];
    return parts.reduce((product, part) => Math.min(1e9, product * Math.max(1, part)), 1);
  }
}
