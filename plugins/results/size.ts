import { Buffer } from "node:buffer";
import { type ContentBlock, isJsonObject, type ToolResult } from "../../core/mod.ts";

/** Limits of a result that is shown whole. */
export interface Budget {
  /** Bytes of text, structured content included. */
  readonly maxBytes: number;
  /** Characters of base64, which a model does not read as text. */
  readonly maxMediaBytes: number;
}

/** The most bytes of UTF-8 that one UTF-16 unit can take. */
const MAX_BYTES_PER_UNIT = 3;
/** Depth beyond which a value may not be writable as JSON, so that it counts as too large. */
const MAX_DEPTH = 500;

/**
 * Whether a result is within the budget. Runs for every result, so it serializes nothing: the lengths of strings decide
 * nearly always.
 */
export function fitsBudget({ content, structuredContent }: ToolResult, budget: Budget): boolean {
  let most = 0;
  let media = 0;
  for (const block of content) {
    const { text, data } = getPayload(block);
    if (text !== undefined) most += text.length * MAX_BYTES_PER_UNIT;
    else if (data !== undefined) media += data.length;
    else most += countJsonBytes(block, budget.maxBytes);
  }
  if (media > budget.maxMediaBytes) return false;
  if (structuredContent !== undefined) most += countJsonBytes(structuredContent, budget.maxBytes);
  return (
    most <= budget.maxBytes ||
    countTextBytes({ content, structuredContent }, budget.maxBytes) <= budget.maxBytes
  );
}

/** Counts the bytes of everything in a result that is read as text. Stops once the limit is exceeded. */
export function countTextBytes({ content, structuredContent }: ToolResult, limit: number): number {
  let bytes = structuredContent === undefined ? 0 : countJsonBytes(structuredContent, limit);
  for (const block of content) {
    if (bytes > limit) break;
    const { text, data } = getPayload(block);
    if (text !== undefined) bytes += Buffer.byteLength(text);
    else if (data === undefined) bytes += countJsonBytes(block, limit);
  }
  return bytes;
}

/** Returns the text or the base64 of a block; neither for any other block. */
export function getPayload(block: ContentBlock): { text?: string; data?: string } {
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

/** Returns the MIME type that a block declares, if it does. */
export function getMimeType(block: ContentBlock): string | undefined {
  const holder = block.type === "resource" && isJsonObject(block["resource"]) ? block["resource"] : block;
  const { mimeType } = holder as { mimeType?: unknown };
  return typeof mimeType === "string" ? mimeType : undefined;
}

/** Estimates the bytes of a value as JSON. Stops once the limit is exceeded. */
export function countJsonBytes(value: unknown, limit: number): number {
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
