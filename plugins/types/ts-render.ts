import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { isNothing, resolveRef, schemasIn, typesOf, valuesOf } from "../lib/schema/schema.ts";
import { kindsOf, widthsIn } from "./ts-kinds.ts";
import { objectMembers } from "./ts-members.ts";
import { valueType } from "./ts-text.ts";

/** A type as it is written, and whether it must stand in brackets beside others. */
export interface Written {
  readonly text: string;
  readonly joined: boolean;
}

/** How a type is written. */
export interface WritingStyle {
  /** Whether it goes over several lines, with comments. */
  readonly lines: boolean;
  /** What stands for a reference; nothing if it cannot stand for itself. `bare` is one that is in no object or list. */
  refer(ref: string, bare: boolean, write: (schema: unknown) => Written): Written | undefined;
}

/** Characters, of which one line has a tenth, and levels; what is beyond is `unknown`, or told by its kind. */
const MAX_LENGTH = 1_000_000;
const MAX_DEPTH = 60;
/** What a schema takes, about, besides its names and values. */
const NODE_LENGTH = 20;
/** A compiler gives up on intersections that come to some more choices. */
const MAX_WIDTH = 1_000;

export const UNKNOWN: Written = { text: "unknown", joined: false };

const WORDS: Readonly<Record<string, string>> = { integer: "number" };

/** Writes the types of one schema, which must be in its normal form. */
export interface TypeWriter {
  write(schema: unknown, indent: string): Written;
  /** The inside of an object that is nothing but an object. */
  members(schema: unknown, indent: string): string | undefined;
  /** Whether there was too much to write, so that something is `unknown` that need not be. */
  isFull(): boolean;
}

/** Makes a writer of types. */
export function typeWriter(root: JsonObject, style: WritingStyle): TypeWriter {
  const widthOf = widthsIn(root);
  let left = style.lines ? MAX_LENGTH : MAX_LENGTH / 10;
  let depth = 0;
  /** In how many objects and lists the type is that is being written. */
  let guards = 0;
  return {
    write,
    isFull: () => left <= 0,
    members(schema, indent) {
      if (!isJsonObject(schema) || valuesOf(schema) || typesOf(schema).join() !== "object") return;
      const isMore = ["$ref", "anyOf", "oneOf", "allOf"].some((word) => Object.hasOwn(schema, word));
      return isMore ? undefined : guarded(() => objectText(schema, indent));
    },
  };

  function write(node: unknown, indent: string): Written {
    if (isNothing(node)) return { text: "never", joined: false };
    if (!isJsonObject(node) || left <= 0) return UNKNOWN;
    if (depth >= MAX_DEPTH) return kindText(node, root);
    left -= NODE_LENGTH;
    depth++;
    const type = joined(node, indent);
    depth--;
    return type;
  }

  /** Everything that a schema says holds at once. */
  function joined(node: JsonObject, indent: string): Written {
    const values = valuesOf(node);
    if (values) return anyOf(values.map((value) => ({ text: spend(valueType(value)), joined: false })));
    const types = typesOf(node);
    const own = types.length > 0 ? anyOf(types.map((type) => ownType(type, node, indent))) : UNKNOWN;
    const parts: Part[] = [[own, () => types.length]];
    const { $ref: ref } = node;
    if (typeof ref === "string") {
      const target = style.refer(ref, guards === 0, (schema) => write(schema, indent));
      if (target) parts.push([target, () => widthOf(resolveRef(ref, root))]);
    }
    for (const word of ["anyOf", "oneOf"]) {
      const list = schemasIn(node[word]);
      const branches = list.flatMap((branch) => branchType(branch, indent) ?? []);
      const width = (): number => list.reduce((sum: number, branch) => sum + widthOf(branch), 0);
      if (branches.length > 0) parts.push([anyOf(branches), width]);
    }
    for (const part of schemasIn(node["allOf"])) {
      const type = branchType(part, indent);
      if (type) parts.push([type, () => widthOf(part)]);
    }
    return all(parts);
  }

  /** A branch that is only a reference to what it is a branch of says nothing. */
  function branchType(branch: unknown, indent: string): Written | undefined {
    if (!isJsonObject(branch) || typeof branch["$ref"] !== "string" || Object.keys(branch).length > 1)
      return write(branch, indent);
    return style.refer(branch["$ref"], guards === 0, (schema) => write(schema, indent));
  }

  function ownType(type: string, node: JsonObject, indent: string): Written {
    if (type === "object") return { text: guarded(() => objectText(node, indent)), joined: false };
    if (type === "array") return guarded(() => listText(node, indent));
    return { text: WORDS[type] ?? type, joined: false };
  }

  function objectText(node: JsonObject, indent: string): string {
    const inner = style.lines ? `${indent}  ` : "";
    const written = (schema: unknown): string => write(schema, inner).text;
    const members = objectMembers(node, root, {
      indent: inner,
      docs: style.lines && left > 0,
      written,
      spend,
    });
    return style.lines
      ? `{\n${members.join("\n")}\n${indent}}`
      : `{ ${members.join(" ")} }`.replace(/; }$/, " }");
  }

  function listText(node: JsonObject, indent: string): Written {
    const { prefixItems, items = true, minItems, maxItems } = node;
    const heads = schemasIn(prefixItems);
    if (heads.length === 0) {
      const item = write(items, indent);
      return { text: items === false ? "[]" : `${bracketed(item)}[]`, joined: false };
    }
    const least = typeof minItems === "number" ? minItems : 0;
    const first = heads.map((head, index) => {
      const item = write(head, indent);
      return index < least ? item.text : `${bracketed(item)}?`;
    });
    const isClosed = items === false || (typeof maxItems === "number" && maxItems <= heads.length);
    const rest = isClosed ? [] : [`...${bracketed(write(items, indent))}[]`];
    return { text: `[${[...first, ...rest].join(", ")}]`, joined: false };
  }

  function guarded<T>(make: () => T): T {
    guards++;
    try {
      return make();
    } finally {
      guards--;
    }
  }

  function spend(text: string): string {
    left -= text.length;
    return text;
  }
}

/** What is left to say of a schema where it goes too deep, or has no end. */
export function kindText(schema: unknown, root: unknown): Written {
  const kinds = kindsOf(schema, root);
  return kinds ? anyOf([...kinds].map((text) => ({ text, joined: false }))) : UNKNOWN;
}

function bracketed({ text, joined }: Written): string {
  return joined ? `(${text})` : text;
}

/** One of several types. One that allows everything leaves nothing to say. */
function anyOf(types: readonly Written[]): Written {
  const distinct = new Map(types.map((type) => [type.text, type]));
  if (distinct.size > 1) distinct.delete("never");
  if (distinct.has("unknown")) return UNKNOWN;
  const [first = { text: "never", joined: false }, ...others] = distinct.values();
  return others.length === 0 ? first : { text: [...distinct.keys()].join(" | "), joined: true };
}

/** A type, and how many choices it has. */
type Part = readonly [type: Written, choices: () => number];

/** All of several types at once, as long as that can be worked out. */
function all(parts: readonly Part[]): Written {
  const telling = new Map(
    parts.filter(([{ text }]) => text !== "unknown").map((part) => [part[0].text, part]),
  );
  const [first, ...others] = telling.values();
  if (!first || others.length === 0) return first?.[0] ?? UNKNOWN;
  const kept = [first[0]];
  let width = first[1]();
  for (const [type, choices] of others) {
    const wider = width * Math.max(1, choices());
    if (wider > MAX_WIDTH) continue;
    width = wider;
    kept.push(type);
  }
  return kept.length === 1 ? first[0] : { text: kept.map(bracketed).join(" & "), joined: true };
}
