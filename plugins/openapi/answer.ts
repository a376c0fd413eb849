import type { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import { type ContentBlock, GatewayError, type ToolResult } from "../../core/mod.ts";
import { httpStatusMeta } from "../../core/services/adapters.ts";
import { RATE_LIMITED, resultMeta } from "../../core/services/policy.ts";
import type { HttpResult } from "../lib/http/client.ts";
import { findJsonFault } from "../lib/json.ts";

/** The longest delay that an API can ask for. */
const MAX_DELAY_SECONDS = 86_400;

/** Converts a response to a tool result. Throws `RATE_LIMITED` if the API was called too often. */
export function toResult(answer: HttpResult, tool: string, uri: string): ToolResult {
  const { status, headers, isAfterwards = false } = answer;
  if (status === 429) throw rateLimited(headers["retry-after"], tool, isAfterwards);
  const isTurnedAway = (status === 401 || status === 403) && !isAfterwards;
  const meta = {
    _meta: { [httpStatusMeta]: status, ...(isTurnedAway && { [resultMeta.turnedAway]: true }) },
  };
  const { blocks, value } = toContent(answer, uri);
  if (status < 300) {
    return { content: blocks, ...(value !== undefined && { structuredContent: value }), ...meta };
  }
  const location =
    headers["location"] === undefined ? {} : { location: findLocation(headers["location"], uri) };
  const message = blocks[0]?.["text"];
  const text = `HTTP ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    content: [{ type: "text", text: message === undefined ? text : `${text}\n${String(message)}` }],
    structuredContent: { status, ...location, body: value ?? message ?? null },
    isError: true,
    ...meta,
  };
}

/** Returns the target of a redirect that was not followed, without secrets. */
function findLocation(location: string, base: string): string {
  if (!URL.canParse(location, base)) return "";
  const { origin, pathname } = new URL(location, base);
  return `${origin}${pathname}`;
}

interface Content {
  readonly blocks: readonly ContentBlock[];
  /** Parsed JSON. */
  readonly value?: unknown;
}

function toContent({ status, headers, body }: HttpResult, uri: string): Content {
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (body.length === 0) {
    const text = status < 300 ? `HTTP ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd() : undefined;
    return { blocks: text === undefined ? [] : [{ type: "text", text }] };
  }
  if (/[/+]json$/.test(type) || type === "") {
    const json = parseJson(body);
    if (json) return json;
  }
  const text = isText(type) ? decodeText(body) : undefined;
  if (text !== undefined) return { blocks: [{ type: "text", text }] };
  const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream";
  const data = body.toString("base64");
  if (/^(image|audio)\//.test(mimeType)) {
    return { blocks: [{ type: mimeType.slice(0, 5), data, mimeType }] };
  }
  return { blocks: [{ type: "resource", resource: { uri, mimeType, blob: data } }] };
}

function parseJson(body: Buffer): Content | undefined {
  const text = decodeText(body);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const fault = findJsonFault(value);
  if (fault) throw new GatewayError(fault.kind, fault.message, { data: { ...fault.data, sent: true } });
  return { blocks: [{ type: "text", text }], value };
}

function isText(type: string): boolean {
  return (
    type === "" || /^text\/|[/+](json|xml|yaml|javascript|csv|x-www-form-urlencoded|graphql)$/.test(type)
  );
}

function decodeText(body: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function rateLimited(header: string | undefined, tool: string, sent: boolean): GatewayError {
  const seconds = parseRetryAfter(header);
  const wait = seconds === undefined ? "later" : `in ${seconds} seconds`;
  return new GatewayError(
    RATE_LIMITED,
    `The API behind "${tool}" was called too often. It may be called again ${wait}.`,
    // A request that was turned away counts as not sent. One whose outcome was asked for too often was sent.
    { data: { status: 429, sent, ...(seconds !== undefined && { retry_after: seconds }) } },
  );
}

/** Parses a delay in seconds, from a number or a date; between none and a day. */
export function parseRetryAfter(header: string | undefined, now: number = Date.now()): number | undefined {
  const text = header?.trim() ?? "";
  if (text === "") return undefined;
  const seconds = /^-?\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), MAX_DELAY_SECONDS);
}
