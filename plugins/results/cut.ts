import { Buffer } from "node:buffer";
import type { ContentBlock, ToolResult } from "../../core/mod.ts";
import {
  createLink,
  createNote,
  findPageEnd,
  type OmittedPart,
  type ResultPart,
  toResultUri,
} from "./page.ts";
import { type Budget, countJsonBytes, countTextBytes, getMimeType, getPayload } from "./size.ts";

interface CutOptions extends Budget {
  /** Id under which the parts are kept; undefined if they are not. */
  readonly id: string | undefined;
  /** Whether structured content stays, whatever its size: a client may insist on it. */
  readonly keepStructured: boolean;
}

/** Bytes that the note may take. */
const NOTE_BYTES = 1_000;
/** Blocks that get a link each; more are read together. */
const MAX_LINKS = 4;
const JSON_TYPE = "application/json";

/**
 * Cuts a result to a budget: `shown` has a note and links to `parts`, which have their names in URIs. All text blocks are one text, cut where the budget ends. Any other block that is too large
 * is left out whole: half an image, or half a JSON, is of no use. Structured content goes first, since servers repeat it
 * as text.
 */
export function cutResult(
  result: ToolResult,
  options: CutOptions,
): { readonly shown: ToolResult; readonly parts: ReadonlyMap<string, ResultPart> } {
  const { id, maxBytes, maxMediaBytes, keepStructured } = options;
  const { structuredContent, ...rest } = result;
  const parts = new Map<string, ResultPart>();
  const omitted: OmittedPart[] = [];
  const omit = (name: string, part: ResultPart, description: string, offset = 0) => {
    parts.set(name, part);
    const entry = { uri: id === undefined ? undefined : toResultUri(id, name, offset), description };
    omitted.push(entry);
    return createLink(entry, part.mimeType);
  };

  const links: (ContentBlock | undefined)[] = [];
  const dropped =
    !keepStructured && structuredContent !== undefined && countTextBytes(result, maxBytes) > maxBytes;
  if (dropped) {
    const part = { mimeType: JSON_TYPE, text: toJson(structuredContent) };
    links.push(omit("structured", part, `structuredContent, ${countCharacters(part.text)} of JSON`));
  }

  const texts = result.content.flatMap((block) => (block.type === "text" ? [getText(block)] : []));
  const others: ContentBlock[] = [];
  const content: ContentBlock[] = [];
  let room = maxBytes - NOTE_BYTES;
  let mediaRoom = maxMediaBytes;
  /** Offset of the current block in all texts together, and the offset at which they are cut. */
  let at = 0;
  let cutAt: number | undefined;
  for (const block of result.content) {
    if (block.type === "text") showText(block, getText(block));
    else showBlock(block);
  }
  if (others.length > 0) {
    const part = { mimeType: JSON_TYPE, text: toJson(others) };
    links.unshift(omit("others", part, `${others.length} more blocks as JSON`));
  }
  if (cutAt !== undefined) {
    const text = texts.join("\n");
    const description = `${countCharacters(text.slice(cutAt))} more of text`;
    links.unshift(omit("text", { mimeType: "text/plain", text }, description, cutAt));
  }
  const more = links.filter((link) => link !== undefined);
  const shown = { ...rest, ...(!dropped && structuredContent !== undefined && { structuredContent }) };
  return { shown: { ...shown, content: [...content, createNote(omitted), ...more] }, parts };

  function showText(block: ContentBlock, text: string): void {
    if (cutAt === undefined) {
      const bytes = Buffer.byteLength(text);
      const end = bytes <= room ? text.length : room > 0 ? findPageEnd(text, 0, room) : 0;
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
    const { data } = getPayload(block);
    const size = data === undefined ? countJsonBytes(block, maxBytes) : data.length;
    if (size <= (data === undefined ? room : mediaRoom)) {
      if (data === undefined) room -= size;
      else mediaRoom -= size;
      content.push(block);
      return;
    }
    const name = String(parts.size);
    if (parts.size >= MAX_LINKS) others.push(block);
    else {
      const part = toPart(block);
      const link = omit(name, part, `${block.type} (${part.mimeType}), ${size.toLocaleString("en")} bytes`);
      if (link) content.push(link);
    }
  }
}

/** A large text of a resource is read page by page like any other. */
function toPart(block: ContentBlock): ResultPart {
  const { text, data } = getPayload(block);
  if (text !== undefined) return { mimeType: getMimeType(block) ?? "text/plain", text };
  if (data !== undefined) return { mimeType: getMimeType(block) ?? "application/octet-stream", block };
  return { mimeType: JSON_TYPE, text: toJson(block) };
}

function getText(block: ContentBlock): string {
  return getPayload(block).text ?? "";
}

function countCharacters(text: string): string {
  return `${text.length.toLocaleString("en")} characters`;
}

/** A plugin's result may be no JSON at all, or nested without an end. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return '"It cannot be written as JSON."';
  }
}
