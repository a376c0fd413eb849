import { isJsonObject } from "../../../core/json.ts";
import type { Tool } from "../../../core/mod.ts";

/** Characters that are read of each of `keywordFields`: a page in a description must not outweigh the rest. */
const MAX_CHARACTERS = [200, 200, 300, 600, 2_000, 1_000, 1_500, 500];
const MAX_PARAMETERS = 100;
const MAX_DEPTH = 4;

/** Extracts the text of each of `keywordFields`. Never throws, whatever a server sent. */
export function fieldTexts(tool: Tool): string[] {
  const description = toText(tool.description);
  const end = findSentenceEnd(description);
  const names: string[] = [];
  const descriptions: string[] = [];
  readParameters(tool.inputSchema, names, descriptions, 0);
  return [
    tool.name,
    tool.server,
    `${toText(tool.title)} ${toText(tool.annotations?.title)}`,
    description.slice(0, end),
    description.slice(end),
    names.join(" "),
    descriptions.join("\n"),
    Array.isArray(tool.tags) ? tool.tags.map(toText).join("\n") : "",
  ].map((text, field) => text.slice(0, MAX_CHARACTERS[field]));
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Index of the end of the first sentence or line. */
function findSentenceEnd(text: string): number {
  const found = /[.!?](?=\s)|[。！？]|\n/.exec(text.slice(0, 600));
  return found ? found.index + 1 : Math.min(text.length, 600);
}

/** Collects nested parameters and those of any choice; the depth ends a schema that refers to itself. */
function readParameters(schema: unknown, names: string[], descriptions: string[], depth: number): void {
  if (depth > MAX_DEPTH || !isJsonObject(schema)) return;
  const properties = schema["properties"];
  if (isJsonObject(properties)) {
    for (const name of Object.keys(properties)) {
      if (names.length >= MAX_PARAMETERS) return;
      names.push(name.slice(0, 100));
      const property = properties[name];
      if (!isJsonObject(property)) continue;
      const description = property["description"];
      if (typeof description === "string") descriptions.push(description.slice(0, 150));
      readParameters(property, names, descriptions, depth + 1);
    }
  }
  readParameters(schema["items"], names, descriptions, depth + 1);
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const choices = schema[key];
    if (Array.isArray(choices))
      for (const choice of choices.slice(0, 20)) readParameters(choice, names, descriptions, depth + 1);
  }
}
