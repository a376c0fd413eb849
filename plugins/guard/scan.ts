import { isJsonObject, type Tool } from "../../core/mod.ts";
import { hiddenIn, plainOf } from "./hidden.ts";
import { injectionIn } from "./injection.ts";

/** Grows whenever more is found than before: what was seen by an older one is looked at again. */
export const SCAN_VERSION = 1;

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

/** What is wrong with the texts of a tool, in words: something hidden in them, or orders to the model. */
export function scan({ name, title, description, inputSchema, outputSchema }: Tool): string | undefined {
  for (const [where, text] of [
    ["name", name],
    ["title", title],
    ["description", description],
  ] as const) {
    const found = text === undefined ? undefined : scanText(text);
    if (found) return `its ${where} ${found}`;
  }
  for (const schema of [inputSchema, outputSchema]) {
    for (const text of textsIn(schema, 0, false)) {
      const found = scanText(text);
      if (found) return `the text of a parameter ${found}`;
    }
  }
  return undefined;
}

/** The same for one text. */
export function scanText(text: string): string | undefined {
  const hidden = hiddenIn(text);
  return hidden ? `holds ${hidden}` : injectionIn(plainOf(text));
}

function* textsIn(value: unknown, depth: number, isText: boolean): Generator<string> {
  if (typeof value === "string") {
    if (isText) yield value;
  } else if (depth > MAX_DEPTH) {
    return;
  } else if (Array.isArray(value)) {
    for (const inner of value) yield* textsIn(inner, depth + 1, isText);
  } else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      yield* textsIn(inner, depth + 1, isText || TEXTS.has(key));
    }
  }
}
