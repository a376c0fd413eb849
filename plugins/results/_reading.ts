import { type ContentBlock, isJsonObject, type ToolResult } from "../../core/mod.ts";
import type { ResourceContents, ResourceResult } from "../serve/resources.ts";
import type { Part } from "./_cut.ts";
import { type LeftOut, linkOf, noteOf } from "./_note.ts";
import { endOfPage, whole } from "./_page.ts";
import { contentOf } from "./_size.ts";
import { uriOf } from "./_uri.ts";

/** What is found under a URI. */
export type Reading =
  | { readonly page: string; readonly mimeType: string; readonly next: LeftOut | undefined }
  | { readonly result: ToolResult };

/** Reads a part: a text from some character on, a block whole. */
export function readPart(
  part: Part,
  { id, name, offset, maxBytes }: { id: string; name: string; offset: number; maxBytes: number },
): Reading {
  if ("block" in part) return { result: { content: [part.block] } };
  const { text, mimeType } = part;
  const start = whole(text, offset);
  const end = endOfPage(text, start, maxBytes);
  const left = text.length - end;
  const next =
    left > 0
      ? { uri: uriOf(id, name, end), what: `${left.toLocaleString("en")} more characters` }
      : undefined;
  return { page: text.slice(start, end), mimeType, next };
}

/** A reading as a tool answers it. */
export function toResult(reading: Reading): ToolResult {
  if ("result" in reading) return reading.result;
  const { page, mimeType, next } = reading;
  const link = next && linkOf(next, mimeType);
  return { content: [{ type: "text", text: page }, ...(next && link ? [noteOf([next]), link] : [])] };
}

/**
 * A reading as a resource. What has the URI that was asked for is the content itself; where to read on comes after it,
 * under the URI to go on with.
 */
export function toContents(uri: string, reading: Reading): ResourceResult {
  if ("result" in reading) {
    const { content, structuredContent, isError } = reading.result;
    const structured =
      structuredContent === undefined
        ? []
        : [{ uri, mimeType: "application/json", text: JSON.stringify(structuredContent) }];
    return {
      contents: [...content.map((block) => contentsOf(uri, block)), ...structured],
      ...(isError && { _meta: { "toolpipe/isError": true } }),
    };
  }
  const { page, mimeType, next } = reading;
  const contents: ResourceContents[] = [{ uri, mimeType, text: page }];
  if (next?.uri !== undefined) contents.push(pointer(next.uri, next.what));
  return { contents, ...(next?.uri !== undefined && { _meta: { "toolpipe/next": next.uri } }) };
}

function contentsOf(uri: string, block: ContentBlock): ResourceContents {
  const { text, data } = contentOf(block);
  const holder = block.type === "resource" && isJsonObject(block["resource"]) ? block["resource"] : block;
  const { mimeType } = holder as { mimeType?: unknown };
  const type = typeof mimeType === "string" ? { mimeType } : {};
  if (data !== undefined) return { uri, ...type, blob: data };
  if (text !== undefined) return { uri, mimeType: "text/plain", ...type, text };
  const { uri: linked, description } = block as { uri?: unknown; description?: unknown };
  return block.type === "resource_link" && typeof linked === "string"
    ? pointer(linked, typeof description === "string" ? description : "more")
    : { uri, mimeType: "application/json", text: JSON.stringify(block) };
}

function pointer(uri: string, what: string): ResourceContents {
  return { uri, mimeType: "text/plain", text: `[${what}: ${uri}]` };
}
