import type { ContentBlock, ToolResult } from "../../core/mod.ts";
import type { ResourceContents, ResourceResult } from "../../core/services/resources.ts";
import type { ResultPart } from "./cut.ts";
import { createLink, createNote, type OmittedPart, toResultUri } from "./links.ts";
import { getMimeType, getPayload } from "./size.ts";

/** The content under a URI: a page of a text, or a whole result. */
export type Page =
  | { readonly text: string; readonly mimeType: string; readonly next: OmittedPart | undefined }
  | { readonly result: ToolResult };

/** Share of a page that may stay empty so that the page ends with a line. */
const LINE_SHARE = 0.2;

const encoder = new TextEncoder();

/**
 * Finds the end of a page that begins at `start` and has at most `maxBytes` bytes: after a line if one ends near, and
 * never within a character. A page has at least one character, so that reading on comes to an end.
 */
export function findPageEnd(text: string, start: number, maxBytes: number): number {
  const rest = text.slice(start, start + Math.max(1, maxBytes));
  const { read } = encoder.encodeInto(rest, new Uint8Array(Math.max(1, maxBytes)));
  const end = alignToCharacter(text, start + read);
  if (end >= text.length) return text.length;
  if (end <= start) return start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  const line = text.lastIndexOf("\n", end - 1) + 1;
  return line > start + (end - start) * (1 - LINE_SHARE) ? line : end;
}

/** Moves an offset back by one if it is between the two halves of a surrogate pair. */
export function alignToCharacter(text: string, offset: number): number {
  const at = Math.min(offset, text.length);
  const isWithin = isSurrogate(text, at - 1, 0xd800) && isSurrogate(text, at, 0xdc00);
  return isWithin ? at - 1 : at;
}

function isSurrogate(text: string, at: number, first: number): boolean {
  const code = text.charCodeAt(at);
  return code >= first && code < first + 0x400;
}

/** Reads a part: a text from some character on, a block whole. */
export function readPage(
  part: ResultPart,
  { id, name, offset, maxBytes }: { id: string; name: string; offset: number; maxBytes: number },
): Page {
  if ("block" in part) return { result: { content: [part.block] } };
  const { text, mimeType } = part;
  const start = alignToCharacter(text, offset);
  const end = findPageEnd(text, start, maxBytes);
  const left = text.length - end;
  const next =
    left > 0
      ? { uri: toResultUri(id, name, end), description: `${left.toLocaleString("en")} more characters` }
      : undefined;
  return { text: text.slice(start, end), mimeType, next };
}

/** Turns a page into the result of a tool. */
export function toPageResult(page: Page): ToolResult {
  if ("result" in page) return page.result;
  const { text, mimeType, next } = page;
  const link = next && createLink(next, mimeType);
  return { content: [{ type: "text", text }, ...(next && link ? [createNote([next]), link] : [])] };
}

/** Turns a page into a resource. The content has the URI that was read; a pointer to the next page follows it. */
export function toPageResource(uri: string, page: Page): ResourceResult {
  if ("result" in page) {
    const { content, structuredContent, isError } = page.result;
    const structured =
      structuredContent === undefined
        ? []
        : [{ uri, mimeType: "application/json", text: JSON.stringify(structuredContent) }];
    return {
      contents: [...content.map((block) => toContents(uri, block)), ...structured],
      ...(isError && { _meta: { "toolpipe/isError": true } }),
    };
  }
  const { text, mimeType, next } = page;
  const contents: ResourceContents[] = [{ uri, mimeType, text }];
  if (next?.uri !== undefined) contents.push(toPointer(next.uri, next.description));
  return { contents, ...(next?.uri !== undefined && { _meta: { "toolpipe/next": next.uri } }) };
}

function toContents(uri: string, block: ContentBlock): ResourceContents {
  const { text, data } = getPayload(block);
  const mimeType = getMimeType(block);
  if (data !== undefined) return { uri, ...(mimeType !== undefined && { mimeType }), blob: data };
  if (text !== undefined) return { uri, mimeType: mimeType ?? "text/plain", text };
  const { uri: linked, description } = block as { uri?: unknown; description?: unknown };
  return block.type === "resource_link" && typeof linked === "string"
    ? toPointer(linked, typeof description === "string" ? description : "more")
    : { uri, mimeType: "application/json", text: JSON.stringify(block) };
}

function toPointer(uri: string, description: string): ResourceContents {
  return { uri, mimeType: "text/plain", text: `[${description}: ${uri}]` };
}
