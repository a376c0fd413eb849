import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { mismatch, Refusal } from "./_http-refusal.ts";
import { legacyVersions, modernVersionOf, modernVersions, RpcError, rpcCodes } from "./protocol.ts";

/** A request or a notification. */
export interface Message {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: unknown;
}

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
/** What the header Mcp-Name repeats of a request. */
const named: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  "tools/call": "name",
  "resources/read": "uri",
  "prompts/get": "name",
};
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Whether a message claims to be of the newer era. */
export function claimsModern({ params }: Pick<Message, "params">): boolean {
  return metaOf(params)?.[VERSION] !== undefined;
}

/**
 * Whether a message is of the newer era. What it says itself decides; its headers must say the same, since
 * what stands between a client and us may have gone by them. A message that contradicts itself is refused.
 */
export function isModern(message: Message, headers: IncomingHttpHeaders): boolean {
  const { id, method } = message;
  const version = headerOf(headers, "mcp-protocol-version");
  const namesModern = version !== undefined && version >= String(modernVersions[0]);
  if (!claimsModern(message) || (method === "initialize" && !isWhole(message))) {
    if (!namesModern) {
      checkLegacyVersion(method === "initialize" ? undefined : version);
      return false;
    }
    if (method === "initialize") throw mismatch("What begins a session has no place in this revision.");
    // A notification need not say what it is.
    if (id === undefined) return true;
    throw incomplete();
  }
  if (id !== undefined && !isWhole(message)) throw incomplete();
  const claimed = metaOf(message.params)?.[VERSION];
  if (version !== undefined && version !== claimed) {
    throw mismatch("The header MCP-Protocol-Version names another revision than the message.");
  }
  const named = headerOf(headers, "mcp-method");
  if (named !== undefined && named !== method) {
    throw mismatch("The header Mcp-Method names another method than the message.");
  }
  checkSupported(message.params as JsonObject);
  if (id !== undefined) checkPresence(message, headers);
  return true;
}

/** The text that a header stands for, or nothing where it is encoded wrongly. */
export function decoded(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice("=?base64?".length, -"?=".length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}

/** One header, without the blanks around it. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.replace(/^[ \t]+|[ \t]+$/g, "") : undefined;
}

/** Refuses a revision of the older era that nobody knows. */
export function checkLegacyVersion(version: string | undefined): void {
  if (version === undefined || legacyVersions.includes(version)) return;
  throw new Refusal(
    400,
    `This protocol version is not supported. Supported are ${[...modernVersions, ...legacyVersions].join(", ")}.`,
  );
}

function checkSupported(params: JsonObject): void {
  try {
    modernVersionOf(params);
  } catch (thrown) {
    if (!(thrown instanceof RpcError)) throw thrown;
    throw new Refusal(400, thrown.message, { code: thrown.code, data: thrown.data });
  }
}

function checkPresence({ method, params }: Message, headers: IncomingHttpHeaders): void {
  for (const name of ["MCP-Protocol-Version", "Mcp-Method"]) {
    if (headerOf(headers, name.toLowerCase()) === undefined) throw mismatch(`The header ${name} is missing.`);
  }
  const field = named[method];
  if (field === undefined) return;
  const header = headerOf(headers, "mcp-name");
  const given = isJsonObject(params) ? params[field] : undefined;
  const name = typeof given === "string" ? given : undefined;
  if (header === undefined) {
    if (name !== undefined) throw mismatch("The header Mcp-Name is missing.");
    return;
  }
  const value = decoded(header);
  if (value === undefined) throw mismatch("The header Mcp-Name is encoded wrongly.");
  if (name !== undefined && value !== name) {
    throw mismatch(`The header Mcp-Name holds another ${field} than the message.`);
  }
}

function metaOf(params: unknown): JsonObject | undefined {
  const meta = isJsonObject(params) ? params["_meta"] : undefined;
  return isJsonObject(meta) ? meta : undefined;
}

/** Whether a request says all that one of the newer era has to say of itself. */
function isWhole({ params }: Message): boolean {
  const meta = metaOf(params);
  return typeof meta?.[VERSION] === "string" && isJsonObject(meta[CAPABILITIES]);
}

function incomplete(): Refusal {
  return new Refusal(400, `The _meta of a request must hold ${VERSION} and ${CAPABILITIES}.`, {
    code: rpcCodes.invalidParams,
  });
}
