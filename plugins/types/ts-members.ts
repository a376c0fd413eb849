import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { propertiesOf, schemasIn } from "../lib/schema/schema.ts";
import { kindsOf } from "./ts-kinds.ts";
import { docComment, memberName, quoted } from "./ts-text.ts";

/** How the members of an object are written. */
export interface MemberStyle {
  readonly indent: string;
  /** Whether descriptions stay, as comments. */
  readonly docs: boolean;
  /** The type of a schema. */
  written(schema: unknown): string;
  /** Counts what is long for another reason than the number of schemas. */
  spend(text: string): string;
}

/** Patterns that every key matches. */
const EVERY_KEY = new Set(["", ".*", ".+", "^.*$", "^.+$", "^.*", "^.+", ".*$"]);
/** A pattern that says how keys begin, and no more. */
const PREFIX = /^\^([\w-]+)(?:\.[*+]\$?)?$/;

/** The members of an object, each with the `;` that ends it. */
export function objectMembers(node: JsonObject, root: JsonObject, style: MemberStyle): string[] {
  const { indent, docs, written, spend } = style;
  const known = propertiesOf(node);
  const names = new Set(known.map(({ name }) => name));
  const unnamed = schemasIn(node["required"]).filter((name) => !names.has(String(name)));
  const other = otherKeys(node);
  const members = known.map(({ name, required, schema }) => {
    const doc = docs && isJsonObject(schema) ? spend(docComment(schema["description"], indent)) : "";
    return `${doc}${indent}${spend(memberName(name))}${required ? "" : "?"}: ${written(schema)};`;
  });
  const rest = other.all.length > 0 ? other.all : [true];
  for (const name of unnamed)
    members.push(`${indent}${memberName(String(name))}: ${joinedTypes(rest.map(written))};`);
  if (other.all.length === 0 && other.prefixes.length === 0) {
    if (members.length === 0) members.push(`${indent}[key: string]: never;`);
    return members;
  }
  // A key of any name must allow what the named ones are.
  const beside = known.flatMap(({ schema, required }) => [
    ...(kindsOf(schema, root) ?? ["unknown"]),
    ...(required ? [] : ["undefined"]),
  ]);
  const types = joinedTypes([...other.all.map(written), ...beside]);
  const prefixed = joinedTypes([...other.prefixes.map(([, schema]) => written(schema)), ...beside]);
  for (const [prefix] of other.prefixes)
    members.push(`${indent}[key: \`${prefix}\${string}\`]: ${prefixed};`);
  if (other.all.length > 0) {
    const doc = docs ? docComment(other.remark, indent) : "";
    members.push(`${doc}${indent}[key: string]: ${types};`);
  }
  return members;
}

interface OtherKeys {
  /** What is at keys that are not named. */
  readonly all: readonly unknown[];
  /** What is at keys that begin so. */
  readonly prefixes: readonly (readonly [prefix: string, schema: unknown])[];
  /** What there is no type for. */
  readonly remark?: string;
}

function otherKeys(node: JsonObject): OtherKeys {
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
      ? { remark: `Keys that match ${others.map(quoted).join(", ")} hold something of their own.` }
      : {};
  return { all: [true], prefixes, ...remark };
}

function joinedTypes(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== "never");
  if (distinct.includes("unknown")) return "unknown";
  return distinct.length > 0 ? distinct.join(" | ") : "never";
}
