import type { Tool } from "../../core/mod.ts";
import { stripHidden } from "./hidden.ts";

/** Deeper schemas are refused before they are used. */
const MAX_DEPTH = 64;

/** The texts of a tool that a model reads. */
export type ToolTexts = Pick<Tool, "title" | "description" | "inputSchema" | "outputSchema">;

/** Removes invisible characters from the texts of a tool. */
export function stripTool(tool: ToolTexts): void {
  Object.assign(tool, stripTexts(tool));
}

/** Returns the texts that differ without invisible characters. */
export function stripTexts({ title, description, inputSchema, outputSchema }: ToolTexts): Partial<ToolTexts> {
  const texts = { title, description, inputSchema, outputSchema };
  const changed = Object.entries(texts).flatMap(([name, value]) => {
    const stripped = strip(value, 0);
    return stripped === value ? [] : [[name, stripped] as const];
  });
  return Object.fromEntries(changed);
}

/** Gives the same value back where nothing is removed: the schema of a tool is known by its identity. */
function strip(value: unknown, depth: number): unknown {
  if (typeof value === "string") return stripHidden(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => strip(item, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isSame = true;
  const entries = Object.entries(value).map(([key, inner]) => {
    // Names of parameters stay: they are what the server takes.
    const stripped = strip(inner, depth + 1);
    if (stripped !== inner) isSame = false;
    return [key, stripped] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}
