import { Buffer } from "node:buffer";
import { type ContentBlock, isJsonObject, type ToolResult } from "../../core/mod.ts";
import { type LeftOut, linkOf, noteOf } from "./_note.ts";
import { endOfPage } from "./_page.ts";
import { type Budget, contentOf, jsonBytes, textBytes } from "./_size.ts";
import { uriOf } from "./_uri.ts";

/** A part of a result that is kept: a text, which is read page by page, or a block, which is read whole. */
export type Part =
  | { readonly mimeType: string; readonly text: string }
  | { readonly mimeType: string; readonly block: ContentBlock };

/** A result that was too large. */
export interface Cut {
  /** What is shown of it: within the budget, with where the rest is. */
  readonly shown: ToolResult;
  /** What is not shown, by the names that URIs have for it. */
  readonly parts: ReadonlyMap<string, Part>;
}

/** How a result is cut. */
export interface CutOptions extends Budget {
  /** Under which id the parts are kept; where there is none, they are not. */
  readonly id: string | undefined;
  /** Whether structured content stays, whatever its size: a client may insist on it. */
  readonly keepStructured: boolean;
}

/** What the note takes, at most. */
const NOTE_BYTES = 1_000;
/** Blocks that get a link each; more are read together. */
const MAX_LINKS = 4;
const JSON_TYPE = "application/json";

/**
 * Cuts a result to a budget. Texts are one text to whoever reads on, cut where the budget ends. Everything else is
 * left out whole where it is too large: half an image, or half a JSON, is of no use. Structured content goes first,
 * since a server is to say the same as text.
 */
export function cut(result: ToolResult, options: CutOptions): Cut {
  const { id, maxBytes, maxMediaBytes, keepStructured } = options;
  const { structuredContent, ...rest } = result;
  const parts = new Map<string, Part>();
  const leftOut: LeftOut[] = [];
  const leave = (name: string, part: Part, what: string, offset = 0): ContentBlock | undefined => {
    parts.set(name, part);
    const entry = { uri: id === undefined ? undefined : uriOf(id, name, offset), what };
    leftOut.push(entry);
    return linkOf(entry, part.mimeType);
  };

  const links: (ContentBlock | undefined)[] = [];
  const dropped =
    !keepStructured && structuredContent !== undefined && textBytes(result, maxBytes) > maxBytes;
  if (dropped) {
    const part = { mimeType: JSON_TYPE, text: jsonOf(structuredContent) };
    links.push(leave("structured", part, `structuredContent, ${counted(part.text)} of JSON`));
  }

  const texts = result.content.flatMap((block) => (block.type === "text" ? [textOf(block)] : []));
  const tooMany: ContentBlock[] = [];
  const content: ContentBlock[] = [];
  let room = maxBytes - NOTE_BYTES;
  let mediaRoom = maxMediaBytes;
  /** Where the current block begins in all texts together, and where these are cut. */
  let at = 0;
  let cutAt: number | undefined;
  for (const block of result.content) {
    if (block.type === "text") showText(block, textOf(block));
    else showBlock(block);
  }
  if (tooMany.length > 0) {
    const part = { mimeType: JSON_TYPE, text: jsonOf(tooMany) };
    links.unshift(leave("others", part, `${tooMany.length} more blocks as JSON`));
  }
  if (cutAt !== undefined) {
    const text = texts.join("\n");
    const what = `${counted(text.slice(cutAt))} more of text`;
    links.unshift(leave("text", { mimeType: "text/plain", text }, what, cutAt));
  }
  const more = links.filter((link) => link !== undefined);
  const shown = { ...rest, ...(!dropped && structuredContent !== undefined && { structuredContent }) };
  return { shown: { ...shown, content: [...content, noteOf(leftOut), ...more] }, parts };

  function showText(block: ContentBlock, text: string): void {
    if (cutAt === undefined) {
      const bytes = Buffer.byteLength(text);
      const end = bytes <= room ? text.length : room > 0 ? endOfPage(text, 0, room) : 0;
      room -= bytes;
      if (end === text.length) content.push(block);
      else {
        cutAt = at + end;
        if (end > 0) content.push({ ...block, text: text.slice(0, end) });
      }
    }
    at += text.length + 1;
  }

  function showBlock(block: ContentBlock): void {
    const { data } = contentOf(block);
    const size = data === undefined ? jsonBytes(block, maxBytes) : data.length;
    if (size <= (data === undefined ? room : mediaRoom)) {
      if (data === undefined) room -= size;
      else mediaRoom -= size;
      content.push(block);
      return;
    }
    const name = String(parts.size);
    if (parts.size >= MAX_LINKS) tooMany.push(block);
    else {
      const part = partOf(block);
      const link = leave(name, part, `${block.type} (${part.mimeType}), ${size.toLocaleString("en")} bytes`);
      if (link) content.push(link);
    }
  }
}

/** A large text of a resource is read page by page like any other. */
function partOf(block: ContentBlock): Part {
  const holder = block.type === "resource" && isJsonObject(block["resource"]) ? block["resource"] : block;
  const { mimeType } = holder as { mimeType?: unknown };
  const { text, data } = contentOf(block);
  if (text !== undefined) return { mimeType: typeof mimeType === "string" ? mimeType : "text/plain", text };
  if (data !== undefined)
    return { mimeType: typeof mimeType === "string" ? mimeType : "application/octet-stream", block };
  return { mimeType: JSON_TYPE, text: jsonOf(block) };
}

function textOf(block: ContentBlock): string {
  return contentOf(block).text ?? "";
}

function counted(text: string): string {
  return `${text.length.toLocaleString("en")} characters`;
}

/** What a plugin made may be no JSON at all, or nested without an end. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return '"It cannot be written as JSON."';
  }
}
