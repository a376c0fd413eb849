import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  allowsNothing,
  getAllowedValues,
  getTypes,
  resolveSchemaRef,
  toSchemas,
} from "../lib/schema/schema.ts";
import { toLiteralType } from "./source-text.ts";
import { createWidthCounter, findKinds, writeMembers } from "./ts-members.ts";

/** Written type. One that is `joined` needs parentheses beside others. */
interface Written {
  readonly text: string;
  readonly joined: boolean;
}

/** Limits of characters (a tenth for one line) and of depth; beyond them a type is `unknown`, or its widest kind. */
const MAX_LENGTH = 1_000_000;
const MAX_DEPTH = 60;
/** Approximate length of a schema without its names and values. */
const NODE_LENGTH = 20;
/** The compiler gives up on intersections with many more choices. */
const MAX_WIDTH = 1_000;

const UNKNOWN: Written = { text: "unknown", joined: false };

const WORDS: Readonly<Record<string, string>> = { integer: "number" };

/** Creates a writer of types. */
export function createTypeWriter(
  root: JsonObject,
  style: {
    /** Whether it has several lines, with comments. */
    readonly lines: boolean;
    /** Writes a reference; undefined if it says nothing. `bare` tells that it is in no object or list. */
    refer(ref: string, bare: boolean, write: (schema: unknown) => Written): Written | undefined;
  },
) {
  const countChoices = createWidthCounter(root);
  let left = style.lines ? MAX_LENGTH : MAX_LENGTH / 10;
  let depth = 0;
  /** Number of objects and lists around the current type. */
  let guards = 0;
  return {
    write,
    /** Whether the limit was reached, so that a type is wider than necessary. */
    isFull: () => left <= 0,
    /** Writes the members of a plain object schema; undefined for another. */
    members(schema: unknown, indent: string): string | undefined {
      if (!isJsonObject(schema) || getAllowedValues(schema) || getTypes(schema).join() !== "object") return;
      const isMore = ["$ref", "anyOf", "oneOf", "allOf"].some((word) => Object.hasOwn(schema, word));
      return isMore ? undefined : guarded(() => objectText(schema, indent));
    },
  };

  function write(node: unknown, indent: string): Written {
    if (allowsNothing(node)) return { text: "never", joined: false };
    if (!isJsonObject(node) || left <= 0) return UNKNOWN;
    if (depth >= MAX_DEPTH) return writeKind(node, root);
    left -= NODE_LENGTH;
    depth++;
    const type = joined(node, indent);
    depth--;
    return type;
  }

  /** Joins all parts of a schema: they hold together. */
  function joined(node: JsonObject, indent: string): Written {
    const values = getAllowedValues(node);
    if (values) return anyOf(values.map((value) => ({ text: spend(toLiteralType(value)), joined: false })));
    const types = getTypes(node);
    const own = types.length > 0 ? anyOf(types.map((type) => ownType(type, node, indent))) : UNKNOWN;
    const parts: Part[] = [[own, () => types.length]];
    const { $ref: ref } = node;
    if (typeof ref === "string") {
      const target = style.refer(ref, guards === 0, (schema) => write(schema, indent));
      if (target) parts.push([target, () => countChoices(resolveSchemaRef(ref, root))]);
    }
    for (const word of ["anyOf", "oneOf"]) {
      const list = toSchemas(node[word]);
      const branches = list.flatMap((branch) => branchType(branch, indent) ?? []);
      const width = (): number => list.reduce((sum: number, branch) => sum + countChoices(branch), 0);
      if (branches.length > 0) parts.push([anyOf(branches), width]);
    }
    for (const part of toSchemas(node["allOf"])) {
      const type = branchType(part, indent);
      if (type) parts.push([type, () => countChoices(part)]);
    }
    return all(parts);
  }

  /** Writes a branch; undefined for one that only refers to its own union. */
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
    const members = writeMembers(node, root, {
      indent: inner,
      docs: style.lines && left > 0,
      write: (schema) => write(schema, inner).text,
      spend,
    });
    return style.lines
      ? `{\n${members.join("\n")}\n${indent}}`
      : `{ ${members.join(" ")} }`.replace(/; }$/, " }");
  }

  function listText(node: JsonObject, indent: string): Written {
    const { prefixItems, items = true, minItems, maxItems } = node;
    const heads = toSchemas(prefixItems);
    if (heads.length === 0) {
      const item = write(items, indent);
      return { text: items === false ? "[]" : `${parenthesize(item)}[]`, joined: false };
    }
    const least = typeof minItems === "number" ? minItems : 0;
    const first = heads.map((head, index) => {
      const item = write(head, indent);
      return index < least ? item.text : `${parenthesize(item)}?`;
    });
    const isClosed = items === false || (typeof maxItems === "number" && maxItems <= heads.length);
    const rest = isClosed ? [] : [`...${parenthesize(write(items, indent))}[]`];
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

/** Writes the widest kind of a schema that is too deep, or recursive. */
export function writeKind(schema: unknown, root: unknown): Written {
  const kinds = findKinds(schema, root);
  return kinds ? anyOf([...kinds].map((text) => ({ text, joined: false }))) : UNKNOWN;
}

function parenthesize({ text, joined }: Written): string {
  return joined ? `(${text})` : text;
}

/** Joins types to a union; one that allows everything absorbs the others. */
function anyOf(types: readonly Written[]): Written {
  const distinct = new Map(types.map((type) => [type.text, type]));
  if (distinct.size > 1) distinct.delete("never");
  if (distinct.has("unknown")) return UNKNOWN;
  const [first = { text: "never", joined: false }, ...others] = distinct.values();
  return others.length === 0 ? first : { text: [...distinct.keys()].join(" | "), joined: true };
}

/** Type with the number of its choices. */
type Part = readonly [type: Written, choices: () => number];

/** Intersects types, as far as the compiler can work the result out. */
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
  return kept.length === 1 ? first[0] : { text: kept.map(parenthesize).join(" & "), joined: true };
}
