import { type ContentBlock, isJsonObject, type JsonObject, type ToolResult } from "../../core/mod.ts";
import { parseText } from "../../presets/anygpt/envelope.ts";

/** Words of keys that are written in capitals. */
const ACRONYMS: ReadonlySet<string> = new Set([
  "api",
  "html",
  "http",
  "id",
  "ids",
  "ip",
  "sha",
  "uri",
  "url",
]);

/** Formats the result of a tool for a person: a flat object as `Key: value` lines, other JSON indented, text as it is. */
export function formatResult({ content, structuredContent }: ToolResult): string {
  if (content.length > 0) return content.map(formatBlock).join("\n");
  return structuredContent === undefined ? "(nothing)" : formatValue(structuredContent);
}

function formatBlock(block: ContentBlock): string {
  if (block.type === "text") return formatText(String(block["text"]));
  const facts = [block["mimeType"], block["uri"]].filter((fact) => typeof fact === "string");
  return `[${[block.type, ...facts].join(" ")}]`;
}

/** Formats the text of a flat object; any other text stays as it is, and so do numbers that parsing would change. */
function formatText(text: string): string {
  const value = parseText(text);
  return isJsonObject(value) && isFlat(value) ? formatFlat(value) : text;
}

function formatValue(value: unknown): string {
  if (isJsonObject(value) && isFlat(value)) return formatFlat(value);
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function isFlat(value: JsonObject): boolean {
  const values = Object.values(value);
  return values.length > 0 && values.every((one) => one === null || typeof one !== "object");
}

function formatFlat(value: JsonObject): string {
  return Object.entries(value)
    .map(([key, one]) => `${toLabel(key)}: ${String(one).replaceAll("\n", "\n  ")}`)
    .join("\n");
}

/** Turns a key into words: `issue_number` is "Issue number", `htmlUrl` is "HTML URL". */
function toLabel(key: string): string {
  const words = key
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .split(/[\s_-]+/)
    .filter(Boolean)
    .map((word) => (ACRONYMS.has(word.toLowerCase()) ? word.toUpperCase() : word.toLowerCase()));
  const label = words.join(" ");
  return label === "" ? key : label[0]?.toUpperCase() + label.slice(1);
}
