import { isJsonObject } from "../../../core/json.ts";
import type { Tool } from "../../../core/mod.ts";

/** The parts of a tool that are searched, in the order of their numbers. */
export const keywordFields = [
  "name",
  "server",
  "title",
  "summary",
  "description",
  "parameters",
  "parameterDescriptions",
  "tags",
] as const;

/** A part of a tool that is searched. */
export type KeywordField = (typeof keywordFields)[number];

/** How much of each part is read: a page in a description must not outweigh the rest, nor cost more than it gives. */
const LONGEST = [200, 200, 300, 600, 2_000, 1_000, 1_500, 500];
const MAX_PARAMETERS = 100;
const MAX_DEPTH = 4;

/** The texts of a tool, one for each field. Whatever a server may have sent, this never throws. */
export function textsOf(tool: Tool): string[] {
  const description = textOf(tool.description);
  const end = endOfSentence(description);
  const names: string[] = [];
  const descriptions: string[] = [];
  readParameters(tool.inputSchema, names, descriptions, 0);
  return [
    tool.name,
    tool.server,
    `${textOf(tool.title)} ${textOf(tool.annotations?.title)}`,
    description.slice(0, end),
    description.slice(end),
    names.join(" "),
    descriptions.join("\n"),
    Array.isArray(tool.tags) ? tool.tags.map(textOf).join("\n") : "",
  ].map((text, field) => text.slice(0, LONGEST[field]));
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Where the first sentence or line ends. */
function endOfSentence(text: string): number {
  const found = /[.!?](?=\s)|[。！？]|\n/.exec(text.slice(0, 600));
  return found ? found.index + 1 : Math.min(text.length, 600);
}

/** Parameters of parameters count too, and so do those of any choice; a schema that refers to itself ends by depth. */
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
