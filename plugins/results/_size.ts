import { Buffer } from "node:buffer";
import { type ContentBlock, isJsonObject, type ToolResult } from "../../core/mod.ts";

/** What a result may have to be shown as it is. */
export interface Budget {
  /** Bytes of text, structured content included. */
  readonly maxBytes: number;
  /** Characters of base64, which a model does not read as text. */
  readonly maxMediaBytes: number;
}

/** No character takes more bytes than this for each of its units. */
const MOST_BYTES = 3;
/** What is deeper than this cannot be written as JSON for sure, so it counts as too large. */
const MAX_DEPTH = 500;

/**
 * Whether a result can be shown as it is. It is asked of every result, so nothing is written out to know: the
 * lengths of texts say enough for nearly all of them.
 */
export function fits({ content, structuredContent }: ToolResult, budget: Budget): boolean {
  let most = 0;
  let media = 0;
  for (const block of content) {
    const { text, data } = contentOf(block);
    if (text !== undefined) most += text.length * MOST_BYTES;
    else if (data !== undefined) media += data.length;
    else most += jsonBytes(block, budget.maxBytes);
  }
  if (media > budget.maxMediaBytes) return false;
  if (structuredContent !== undefined) most += jsonBytes(structuredContent, budget.maxBytes);
  return (
    most <= budget.maxBytes || textBytes({ content, structuredContent }, budget.maxBytes) <= budget.maxBytes
  );
}

/** The bytes of everything in a result that is read as text; past the limit, only that it is more. */
export function textBytes({ content, structuredContent }: ToolResult, limit: number): number {
  let bytes = structuredContent === undefined ? 0 : jsonBytes(structuredContent, limit);
  for (const block of content) {
    if (bytes > limit) break;
    const { text, data } = contentOf(block);
    if (text !== undefined) bytes += Buffer.byteLength(text);
    else if (data === undefined) bytes += jsonBytes(block, limit);
  }
  return bytes;
}

/** The text or the base64 that a block is there for; neither where it is something else. */
export function contentOf(block: ContentBlock): { text?: string; data?: string } {
  if (block.type === "text") return { text: String(block["text"]) };
  const holder = block.type === "resource" ? block["resource"] : block;
  if (!isJsonObject(holder)) return {};
  const { text, blob, data } = holder;
  if (block.type === "resource") {
    if (typeof text === "string") return { text };
    return typeof blob === "string" ? { data: blob } : {};
  }
  return typeof data === "string" && (block.type === "image" || block.type === "audio") ? { data } : {};
}

/** About the bytes of a value as JSON; past the limit, only that it is more. */
export function jsonBytes(value: unknown, limit: number): number {
  let bytes = 0;
  visit(value, 0);
  return bytes;

  function visit(node: unknown, depth: number): void {
    if (typeof node === "string") bytes += Buffer.byteLength(node) + 3;
    else if (typeof node !== "object" || node === null) bytes += 5;
    else if (depth > MAX_DEPTH) bytes = limit + 1;
    else {
      bytes += 2;
      if (Array.isArray(node)) {
        for (let index = 0; index < node.length && bytes <= limit; index++) visit(node[index], depth + 1);
        return;
      }
      for (const key of Object.keys(node)) {
        if (bytes > limit) return;
        bytes += key.length + 3;
        visit((node as Record<string, unknown>)[key], depth + 1);
      }
    }
  }
}
