/**
 * An emitter: writes each tool as a page of Markdown, with its arguments as a list.
 *
 * toolpipe export --format ./emitter.ts
 */
import type { TypeEmitter } from "toolpipe/services";

/** Deeper schemas, and those that refer to themselves, are cut off here. */
const MAX_DEPTH = 5;
/** Most members of an object that are written. */
const MAX_MEMBERS = 50;

/** Schemas are untrusted: what is no object has no fields. */
const toFields = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

/** A text in one line and of bounded length, without what Markdown would take for more than text. */
const line = (text: unknown): string =>
  String(text ?? "")
    .replace(/[\s\p{Cc}`<>[\]\\|*_#]+/gu, " ")
    .trim()
    .slice(0, 200);

function emitType(schema: unknown, depth = 0): string {
  const { type, items } = toFields(schema);
  if (type === "array" && depth < MAX_DEPTH) return `list of ${emitType(items, depth + 1)}`;
  return typeof type === "string" && line(type) !== "" ? line(type) : "anything";
}

export const emitter: TypeEmitter = {
  name: "markdown",
  extension: ".md",
  type: (schema) => emitType(schema),
  declaration({ id, description, inputSchema }) {
    const { properties, required } = toFields(inputSchema);
    const needed = Array.isArray(required) ? required : [];
    const rows = Object.entries(toFields(properties))
      .slice(0, MAX_MEMBERS)
      .map(([name, schema]) => {
        const about = line(toFields(schema)["description"]);
        return `- ${line(name)} (${emitType(schema)}${needed.includes(name) ? ", required" : ""}) ${about}`.trimEnd();
      });
    return `# ${line(id)}\n\n${line(description)}\n\n${rows.join("\n") || "No arguments."}\n`;
  },
};
