import { randomBytes } from "node:crypto";
import type { ContentBlock, Progress, ToolResult } from "../../core/mod.ts";
import type { ResourceContents, ResourceResult } from "../../core/services/resources.ts";
import { getMimeType, getPayload } from "./size.ts";

/** A part of a result that is kept: a text, which is read page by page, or a block, which is read whole. */
export type ResultPart =
  | { readonly mimeType: string; readonly text: string }
  | { readonly mimeType: string; readonly block: ContentBlock };

/** A part of a result that is not shown. */
export interface OmittedPart {
  /** URI under which it can be read; undefined if it is too large to be kept. */
  readonly uri: string | undefined;
  readonly description: string;
}

/** A call that goes on after its client was answered with a link. */
export interface RunningCall {
  readonly actor: string;
  /** Name of the tool, for the reader of the link. */
  readonly name: string;
  /** Time of its start, on the clock of `performance.now()`. */
  readonly startedAt: number;
  progress(): Progress | undefined;
  /** Resolves once its result can be read. */
  readonly done: Promise<void>;
}

/** The server and the tool by which an agent reads what it was not shown. */
export const reader = { server: "toolpipe", tool: "read_result" } as const;

/**
 * Names a tool, because most agents can call tools and cannot read resources. The tool is in no list: a list costs every
 * agent tokens, and this hint costs only those that need the tool.
 */
const HINT = `the tool "${reader.tool}" of the server "${reader.server}"`;
const PREFIX = "toolpipe://results/";
const PATTERN = /^([\w-]{22})(?:\/([a-z0-9]{1,20}))?(?:\?offset=(\d{1,15}))?$/;

/** Creates an id that cannot be guessed: a URI with it is proof that its holder was given it. */
export function createResultId(): string {
  return randomBytes(16).toString("base64url");
}

/** Returns the URI of a kept result, of a part of it, or of the part from a character on. */
export function toResultUri(id: string, part?: string, offset = 0): string {
  return `${PREFIX}${id}${part === undefined ? "" : `/${part}`}${offset > 0 ? `?offset=${offset}` : ""}`;
}

/** Whether a URI has the form of a kept result, valid or not. */
export function isResultUri(uri: string): boolean {
  return uri.startsWith(PREFIX);
}

/** Parses the URI of a kept result; undefined if it is not a valid one. */
export function parseResultUri(
  uri: string,
): { id: string; part: string | undefined; offset: number } | undefined {
  const [, id, part, offset = "0"] = PATTERN.exec(isResultUri(uri) ? uri.slice(PREFIX.length) : "") ?? [];
  return id === undefined ? undefined : { id, part, offset: Number(offset) };
}

/** Creates the line that names the parts that are not shown, and how to read them. */
export function createNote(omitted: readonly OmittedPart[]): ContentBlock {
  const kept = omitted.flatMap(({ uri, description }) =>
    uri === undefined ? [] : [`${JSON.stringify({ uri })} ${description}`],
  );
  const lost = omitted.flatMap(({ uri, description }) => (uri === undefined ? [description] : []));
  const lines = [
    ...(kept.length > 0 ? [`Not all of it is shown. Read on with ${HINT}:`, ...kept] : []),
    ...(lost.length > 0
      ? ["Not all of it is shown. Left out, because it is too large to be kept:", ...lost]
      : []),
  ];
  return { type: "text", text: `[${lines.join("\n")}]` };
}

/** Creates the link to a part, for clients that can read resources. */
export function createLink({ uri, description }: OmittedPart, mimeType: string): ContentBlock | undefined {
  return uri === undefined
    ? undefined
    : { type: "resource_link", uri, name: "rest of the result", description, mimeType };
}

/** Describes a call that is still running. */
export function describeRunning({ name, startedAt, progress }: RunningCall, uri: string): string {
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const last = progress();
  const how = last ? ` Its last progress was ${describeProgress(last)}.` : " It has reported no progress.";
  return `${name} is still running, after ${seconds} s.${how} Read its result later with ${HINT}: ${JSON.stringify({ uri })}`;
}

/** Creates the answer to a client whose call is still running. */
export function toRunningResult(running: RunningCall, uri: string): ToolResult {
  const link = { uri, name: "result", description: `The result of ${running.name}, once it is there.` };
  return {
    content: [
      { type: "text", text: describeRunning(running, uri) },
      { type: "resource_link", ...link },
    ],
  };
}

function describeProgress({ progress, total, message }: Progress): string {
  const share = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message === undefined ? share : `${share} (${message.slice(0, 200)})`;
}

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
