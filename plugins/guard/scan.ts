import type { Tool } from "../../core/mod.ts";
import { hiddenIn, plainOf } from "./hidden.ts";
import { injectionIn } from "./injection.ts";

/** Grows whenever more is found than before: what was seen by an older one is looked at again. */
export const SCAN_VERSION = 2;

/** The fields of a schema that a model reads as text. */
const TEXTS = new Set([
  "description",
  "title",
  "default",
  "const",
  "enum",
  "examples",
  "example",
  "$comment",
]);
/** Deeper schemas, and larger ones, are refused before they are used. */
const MAX_DEPTH = 64;

/**
 * What is wrong with the texts of a tool, in words: something hidden in them, or orders to the model. Most texts of an
 * API stand in many of its tools: those in which nothing was found are kept in `harmless`, and not looked at again.
 */
export function scan(tool: Tool, harmless: Set<string> = new Set()): string | undefined {
  const { name, title, description, inputSchema, outputSchema } = tool;
  for (const [where, text] of [
    ["name", name],
    ["title", title],
    ["description", description],
  ] as const) {
    const found = text === undefined ? undefined : flawOf(text);
    if (found) return `its ${where} ${found}`;
  }
  const found = flawIn(inputSchema, 0, false) ?? flawIn(outputSchema, 0, false);
  return found && `the text of a parameter ${found}`;

  function flawOf(text: string): string | undefined {
    if (harmless.has(text)) return undefined;
    const flaw = scanText(text);
    if (!flaw) harmless.add(text);
    return flaw;
  }

  function flawIn(value: unknown, depth: number, isText: boolean): string | undefined {
    if (typeof value === "string") return isText ? flawOf(value) : undefined;
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
    const isList = Array.isArray(value);
    for (const key of Object.keys(value)) {
      const inner = (value as Readonly<Record<string, unknown>>)[key];
      const flaw = flawIn(inner, depth + 1, isText || (!isList && TEXTS.has(key)));
      if (flaw) return flaw;
    }
    return undefined;
  }
}

/** The same for one text. */
export function scanText(text: string): string | undefined {
  const hidden = hiddenIn(text);
  return hidden ? `holds ${hidden}` : injectionIn(plainOf(text));
}
