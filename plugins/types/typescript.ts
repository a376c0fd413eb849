import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { resolveRef, schemasIn, valuesOf } from "../lib/schema/schema.ts";
import { normalForm } from "./normal-form.ts";
import { kindText, typeWriter } from "./ts-render.ts";
import { docComment, typeName } from "./ts-text.ts";

/** References multiply what few schemas say: they are followed this far within each other, or else less far. */
const HOPS = [60, 4, 2, 1];

/** The type of a JSON Schema in one line, references and all. What has no end is told by its kind. */
function inlineType(schema: unknown): string {
  const root = normalForm(schema, { annotations: false, sorted: false });
  let text = "";
  for (const hops of HOPS) {
    const open = new Set<unknown>();
    const writer = typeWriter(root, {
      lines: false,
      refer(ref, _bare, write) {
        const target = resolveRef(ref, root);
        if (open.has(target) || open.size >= hops || target === root) return kindText(target, root);
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

/** A schema as the declaration of a type of this name, and of what it refers to. */
export function typeDeclarations(name: string, schema: unknown, description?: string): string {
  const root = normalForm(schema, { annotations: true, sorted: false });
  const definitions = isJsonObject(root["$defs"]) ? root["$defs"] : {};
  const names = namesFor(name, Object.keys(definitions));
  const loops = bareLoops(root, definitions);
  let current = "#";
  const writer = typeWriter(root, {
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
    return `${docComment(text, "")}export ${body}\n`;
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

function namesFor(base: string, keys: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const key of keys) {
    const plain = base + typeName(key);
    let name = plain;
    for (let count = 2; taken.has(name); count++) name = `${plain}_${count}`;
    taken.add(name);
    names.set(`#/$defs/${key}`, name);
  }
  return names;
}

/** Says whether one type leads back to another through nothing but references and choices, which no type may. */
function bareLoops(root: JsonObject, definitions: JsonObject): (from: string, to: string) => boolean {
  const nodes = new Map<string, unknown>([["#", root]]);
  for (const [key, node] of Object.entries(definitions)) nodes.set(`#/$defs/${key}`, node);
  const reached = new Map<string, ReadonlySet<string>>();
  return (from, to) => {
    if (from === to) return true;
    const known = reached.get(from) ?? reachedFrom(from);
    reached.set(from, known);
    return known.has(to);
  };

  function reachedFrom(from: string): Set<string> {
    const found = new Set<string>();
    const open: unknown[] = [nodes.get(from)];
    while (open.length > 0) {
      const node = open.pop();
      if (!isJsonObject(node) || valuesOf(node)) continue;
      const { $ref: ref } = node;
      if (typeof ref === "string" && !found.has(ref)) {
        found.add(ref);
        open.push(nodes.get(ref));
      }
      for (const word of ["anyOf", "oneOf", "allOf"]) open.push(...schemasIn(node[word]));
    }
    return found;
  }
}

/** The words that may say that there must be arguments. */
const NEEDING = ["required", "$ref", "anyOf", "oneOf", "allOf", "minProperties"];

/**
 * Writes types as TypeScript. What a schema allows, its type allows: an object that does not forbid other keys has
 * them, as `unknown`. A word that is about one kind of value is taken to ask for it, as its authors mean it.
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
  type: inlineType,
  declaration({ description, inputSchema, outputSchema, provider }) {
    const name = typeName(provider.toolName);
    const isNeeded = NEEDING.some((word) => schemasIn([inputSchema[word]].flat()).some(Boolean));
    const result = outputSchema === undefined ? "unknown" : `${name}Output`;
    // The name of a tool must not take away that of what it gives.
    const own = name === "Promise" ? "PromiseTool" : name;
    return [
      typeDeclarations(`${name}Input`, inputSchema),
      ...(outputSchema === undefined ? [] : [typeDeclarations(`${name}Output`, outputSchema)]),
      `${docComment(description, "")}export type ${own} = (input${isNeeded ? "" : "?"}: ${name}Input) => Promise<${result}>;\n`,
    ].join("\n");
  },
};
