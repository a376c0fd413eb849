import type { JsonObject } from "../../../core/mod.ts";
import { normalizeSchema, type TypeEmitter } from "../../../plugins/types/mod.ts";

const WORDS: Record<string, string> = { string: "str", integer: "int", number: "float", boolean: "bool" };

/** A custom emitter: the parameters of tools as type hints of Python. */
export const python: TypeEmitter = {
  name: "python",
  extension: ".pyi",
  type(schema) {
    const { type, items, properties } = normalizeSchema(schema);
    if (type === "array") return `list[${python.type(items)}]`;
    if (type !== "object" || !properties) return WORDS[String(type)] ?? "Any";
    const fields = Object.entries(properties as JsonObject);
    return `TypedDict({${fields.map(([name, inner]) => `${JSON.stringify(name)}: ${python.type(inner)}`).join(", ")}})`;
  },
  declaration: ({ id, inputSchema }) => `tools[${JSON.stringify(id)}] = ${python.type(inputSchema)}\n`,
};
