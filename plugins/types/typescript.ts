import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { getAllowedValues, resolveSchemaRef, toSchemas } from "../lib/schema/schema.ts";
import { normalForm } from "./normal-form.ts";
import { toDocComment, toTypeName } from "./source-text.ts";
import { createTypeWriter, writeKind } from "./type-writer.ts";

/** Nested references multiply the size of a type. Each depth is tried until the type fits the limits. */
const HOPS = [60, 4, 2, 1];

/** Writes the type of a JSON Schema in one line, with references inlined. A recursive one is written as its kind. */
function writeInline(schema: unknown): string {
  const root = normalForm(schema, { annotations: false, sorted: false });
  let text = "";
  for (const hops of HOPS) {
    const open = new Set<unknown>();
    const writer = createTypeWriter(root, {
      lines: false,
      refer(ref, _bare, write) {
        const target = resolveSchemaRef(ref, root);
        if (open.has(target) || open.size >= hops || target === root) return writeKind(target, root);
        open.add(target);
        const type = write(target);
        open.delete(target);
        return type;
      },
    });
    text = writer.write(root, "").text;
    if (!writer.isFull()) break;
  }
  return text;
}

/** Declares a type of this name for a schema, and types for the schemas it refers to. */
export function typeDeclarations(name: string, schema: unknown, description?: string): string {
  const root = normalForm(schema, { annotations: true, sorted: false });
  const definitions = isJsonObject(root["$defs"]) ? root["$defs"] : {};
  const names = chooseNames(name, Object.keys(definitions));
  const loops = createLoopFinder(root, definitions);
  let current = "#";
  const writer = createTypeWriter(root, {
    lines: true,
    refer(ref, bare) {
      if (bare && loops(ref, current)) return;
      const text = ref === "#" ? name : names.get(ref);
      return text === undefined ? undefined : { text, joined: false };
    },
  });
  const declare = (own: string, node: unknown, text: unknown): string => {
    const members = writer.members(node, "");
    const body =
      members === undefined ? `type ${own} = ${writer.write(node, "").text};` : `interface ${own} ${members}`;
    return `${toDocComment(text, "")}export ${body}\n`;
  };
  const parts = [declare(name, root, description ?? root["description"])];
  for (const [key, node] of Object.entries(definitions)) {
    current = `#/$defs/${key}`;
    parts.push(
      declare(String(names.get(current)), node, isJsonObject(node) ? node["description"] : undefined),
    );
  }
  return parts.join("\n");
}

function chooseNames(base: string, keys: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const key of keys) {
    const plain = base + toTypeName(key);
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
    taken.add(name);
    names.set(`#/$defs/${key}`, name);
  }
  return names;
}

/** Creates a test for types that lead back to one another by references and choices alone, which no type may. */
function createLoopFinder(root: JsonObject, definitions: JsonObject): (from: string, to: string) => boolean {
  const nodes = new Map<string, unknown>([["#", root]]);
  for (const [key, node] of Object.entries(definitions)) nodes.set(`#/$defs/${key}`, node);
  const reached = new Map<string, ReadonlySet<string>>();
  return (from, to) => {
    if (from === to) return true;
    const known = reached.get(from) ?? findReached(from);
    reached.set(from, known);
    return known.has(to);
  };

  function findReached(from: string): Set<string> {
    const found = new Set<string>();
    const open: unknown[] = [nodes.get(from)];
    while (open.length > 0) {
      const node = open.pop();
      if (!isJsonObject(node) || getAllowedValues(node)) continue;
      const { $ref: ref } = node;
      if (typeof ref === "string" && !found.has(ref)) {
        found.add(ref);
        open.push(nodes.get(ref));
      }
      for (const word of ["anyOf", "oneOf", "allOf"]) open.push(...toSchemas(node[word]));
    }
    return found;
  }
}

/** Keywords that may require arguments. */
const NEEDING = ["required", "$ref", "anyOf", "oneOf", "allOf", "minProperties"];

/**
 * Writes types as TypeScript. A type allows all that its schema allows: an object that does not forbid other keys has
 * them, as `unknown`. A keyword for one kind of value implies that kind, as its authors mean it.
 *
 * @example
 * ```ts
 * import { typescript } from "toolpipe/plugins/types";
 *
 * typescript.type({ type: "array", items: { enum: ["open", "closed"] } }); // ("open" | "closed")[]
 * ```
 */
export const typescript: TypeEmitter = {
  name: "typescript",
  extension: ".ts",
  type: writeInline,
  declaration({ description, inputSchema, outputSchema, provider }) {
    const name = toTypeName(provider.toolName);
    const isNeeded = NEEDING.some((word) => toSchemas([inputSchema[word]].flat()).some(Boolean));
    const result = outputSchema === undefined ? "unknown" : `${name}Output`;
    // A tool named "promise" must not shadow the type of its result.
    const own = name === "Promise" ? "PromiseTool" : name;
    return [
      typeDeclarations(`${name}Input`, inputSchema),
      ...(outputSchema === undefined ? [] : [typeDeclarations(`${name}Output`, outputSchema)]),
      `${toDocComment(description, "")}export type ${own} = (input${isNeeded ? "" : "?"}: ${name}Input) => Promise<${result}>;\n`,
    ].join("\n");
  },
};
