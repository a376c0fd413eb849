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

/**
 * Formats the result of a tool for a person: a flat object as `Key: value` lines, other JSON indented, text as it is. A
 * flat structured object follows a text that does not have its values.
 */
export function formatResult({ content, structuredContent }: ToolResult): string {
  if (content.length === 0)
    return structuredContent === undefined ? "(nothing)" : formatValue(structuredContent);
  const said = content.map(formatBlock).join("\n");
  if (!isJsonObject(structuredContent) || !isFlat(structuredContent)) return said;
  const texts = content.flatMap(({ type, text }) => (type === "text" ? [String(text)] : []));
  const missing = Object.fromEntries(
    Object.entries(structuredContent).filter(
      ([, value]) => !texts.some((text) => hasWord(text, String(value))),
    ),
  );
  return isFlat(missing) ? `${said}\n${formatFlat(missing)}` : said;
}

/** Whether a text has a value that is no part of a longer word or number. */
function hasWord(text: string, value: string): boolean {
  const isPart = (character: string | undefined): boolean => /[\p{L}\p{N}]/u.test(character ?? "");
  for (let at = text.indexOf(value); value !== "" && at !== -1; at = text.indexOf(value, at + 1))
    if (!isPart(text[at - 1]) && !isPart(text[at + value.length])) return true;
  return false;
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
