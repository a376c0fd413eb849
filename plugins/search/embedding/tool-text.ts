import type { Tool } from "../../../core/mod.ts";

const MAX_CHARACTERS = 1_000;

/** A tool as one text, for models that read texts: its name in words, and what it is for. */
export function textOf(tool: Tool): string {
  const name = tool.name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[^\p{L}\p{N}]+/gu, " ");
  const about = (tool.description ?? tool.title ?? "").slice(0, MAX_CHARACTERS).trim();
  return [`${tool.server} ${name.trim()}`, about].filter((part) => part !== "").join(": ");
}
