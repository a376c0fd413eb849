import type { Tool } from "../../core/mod.ts";
import { findHidden, toPlainText } from "./hidden.ts";
import { findInjection } from "./injection.ts";

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
 * Names what is wrong with the texts of a tool: something hidden, or orders to the model. Many tools of an API share
 * most of their texts: those without a flaw are kept in `harmless`, and not scanned again.
 */
export function scan(tool: Tool, harmless: Set<string> = new Set()): string | undefined {
  const { name, title, description, inputSchema, outputSchema } = tool;
  for (const [where, text] of [
    ["name", name],
    ["title", title],
    ["description", description],
  ] as const) {
    const found = text === undefined ? undefined : findFlaw(text);
    if (found) return `its ${where} ${found}`;
  }
  const found = findFlawInSchema(inputSchema, 0, false) ?? findFlawInSchema(outputSchema, 0, false);
  return found && `the text of a parameter ${found}`;

  function findFlaw(text: string): string | undefined {
    if (harmless.has(text)) return undefined;
    const flaw = scanText(text);
    if (!flaw) harmless.add(text);
    return flaw;
  }

  function findFlawInSchema(value: unknown, depth: number, isText: boolean): string | undefined {
    if (typeof value === "string") return isText ? findFlaw(value) : undefined;
    if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return undefined;
    const isList = Array.isArray(value);
    for (const key of Object.keys(value)) {
      const inner = (value as Readonly<Record<string, unknown>>)[key];
      const flaw = findFlawInSchema(inner, depth + 1, isText || (!isList && TEXTS.has(key)));
      if (flaw) return flaw;
    }
    return undefined;
  }
}

/** Names what is wrong with one text. */
export function scanText(text: string): string | undefined {
  const hidden = findHidden(text);
  return hidden ? `holds ${hidden}` : findInjection(toPlainText(text));
}
