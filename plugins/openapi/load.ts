import { readFile, stat } from "node:fs/promises";
import { GatewayError, isJsonObject, type JsonObject, parseData } from "../../core/mod.ts";
import { stripUrl } from "../lib/http/errors.ts";
import { DOCUMENT_BROKEN, type OpenApiDocument, toDocument } from "./document.ts";

/** Limits of a document. */
export interface DocumentLimits {
  readonly bytes: number;
  readonly depth: number;
  readonly values: number;
}

/** About four times the largest published document that is known. */
export const documentLimits: DocumentLimits = { bytes: 32_000_000, depth: 200, values: 5_000_000 };

/** Fetches the bytes of a document. */
export type FetchDocument = (url: string, maxBytes: number) => Promise<Uint8Array>;

/** Whether a place is a URL, not a file. */
export function isUrl(place: string): boolean {
  return /^https?:\/\//i.test(place);
}

/** Reads a document from a file or a URL. Rejects with `DOCUMENT_BROKEN`, with the place and the reason. */
export async function loadDocument(
  place: string,
  fetchDocument: FetchDocument,
  limits: DocumentLimits = documentLimits,
): Promise<OpenApiDocument> {
  const from = isUrl(place) ? stripUrl(place) : place;
  const bytes = isUrl(place)
    ? await fetchDocument(place, limits.bytes)
    : await readBounded(place, limits.bytes);
  const value = await parse(decode(bytes, from), from);
  checkNesting(value, limits, from);
  return toDocument(value, from, isUrl(place) ? place : undefined);
}

async function readBounded(file: string, maxBytes: number): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (size > maxBytes) throw broken(file, `it is larger than ${maxBytes} bytes`);
    return await readFile(file);
  } catch (cause) {
    if (GatewayError.is(cause)) throw cause;
    throw broken(file, `it cannot be read (${(cause as NodeJS.ErrnoException).code})`, cause);
  }
}

function decode(bytes: Uint8Array, from: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw broken(from, "it is not written in UTF-8", cause);
  }
}

async function parse(text: string, from: string): Promise<unknown> {
  const isJson = /^\s*[{[]/.test(text);
  if (isJson) {
    try {
      // Ten times as fast as `parseData`, which is needed only for the line of a fault.
      return JSON.parse(text);
    } catch {}
  }
  const name = isJson ? "document.json" : "document.yaml";
  try {
    return await parseData(text, name);
  } catch (cause) {
    const { message, data } = GatewayError.from(cause);
    const place = { document: from, line: data["line"], column: data["column"] };
    throw new GatewayError(
      DOCUMENT_BROKEN,
      message.replace(name, () => from),
      { cause, data: place },
    );
  }
}

/**
 * Checks depth, size and keys once, so that later walks need no limits of their own. YAML aliases can multiply a few
 * lines, or contain themselves, so every occurrence counts.
 */
function checkNesting(value: unknown, { depth: maxDepth, values }: DocumentLimits, from: string): void {
  let count = 0;
  visit(value, 0);

  function visit(node: unknown, depth: number): void {
    if (++count > values) throw broken(from, `it holds more than ${values} values`);
    if (typeof node !== "object" || node === null) return;
    if (depth > maxDepth) throw broken(from, `it is nested deeper than ${maxDepth} levels`);
    if (isJsonObject(node) && Object.hasOwn(node, "__proto__")) {
      throw broken(from, 'it holds the key "__proto__", which is not allowed');
    }
    for (const key in node) visit((node as JsonObject)[key], depth + 1);
  }
}

function broken(from: string, why: string, cause?: unknown): GatewayError {
  return new GatewayError(DOCUMENT_BROKEN, `${from}: ${why}.`, { cause, data: { document: from } });
}
