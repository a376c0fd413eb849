import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { type Catalog, type Gateway, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { HttpRefusal, JsonRpcError, mismatch, rpcCodes } from "../../lib/jsonrpc.ts";
import {
  getArgument,
  type HeaderParam,
  PARAM_HEADER_PREFIX,
  scanHeaderParams,
} from "../../lib/schema/header-params.ts";
import { getMeta, getModernVersion, legacyVersions, META, modernVersions } from "../protocol/messages.ts";
import type { ExposedTool, View } from "../view.ts";

/** A request or a notification. */
export interface Message {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: unknown;
}

const VERSION = `${META}protocolVersion`;
const CAPABILITIES = `${META}clientCapabilities`;
/** The param of each method that the header Mcp-Name repeats. */
const named: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  "tools/call": "name",
  "resources/read": "uri",
  "prompts/get": "name",
};
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Whether a message claims a modern protocol version. */
export function claimsModern({ params }: Pick<Message, "params">): boolean {
  return findMeta(params)?.[VERSION] !== undefined;
}

/**
 * Whether a message is of a modern protocol version. The message decides; its headers must say the same, since a proxy
 * between the client and us may have acted on them. A message that contradicts its headers is refused.
 */
export function isModern(message: Message, headers: IncomingHttpHeaders): boolean {
  const { id, method } = message;
  const version = getHeader(headers, "mcp-protocol-version");
  const namesModern = version !== undefined && version >= String(modernVersions[0]);
  if (!claimsModern(message) || (method === "initialize" && !isComplete(message))) {
    if (!namesModern) {
      checkLegacyVersion(method === "initialize" ? undefined : version);
      return false;
    }
    if (method === "initialize") throw mismatch("This protocol version has no sessions to initialize.");
    // A notification need not name its version.
    if (id === undefined) return true;
    throw incomplete();
  }
  if (id !== undefined && !isComplete(message)) throw incomplete();
  const claimed = findMeta(message.params)?.[VERSION];
  if (version !== undefined && version !== claimed) {
    throw mismatch("The header MCP-Protocol-Version names another version than the message.");
  }
  const methodHeader = getHeader(headers, "mcp-method");
  if (methodHeader !== undefined && methodHeader !== method) {
    throw mismatch("The header Mcp-Method names another method than the message.");
  }
  checkSupported(message.params as JsonObject);
  if (id !== undefined) checkRequiredHeaders(message, headers);
  return true;
}

/** A header without the blanks around it. */
export function getHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.replace(/^[ \t]+|[ \t]+$/g, "") : undefined;
}

/** Refuses an unknown legacy protocol version. */
export function checkLegacyVersion(version: string | undefined): void {
  if (version === undefined || legacyVersions.includes(version)) return;
  throw new HttpRefusal(
    400,
    `This protocol version is not supported. Supported are ${[...modernVersions, ...legacyVersions].join(", ")}.`,
  );
}

/** Refuses a call whose headers do not repeat the arguments that its tool wants repeated. */
type ArgumentHeaderCheck = (message: Message, headers: IncomingHttpHeaders) => void;

/** The mirrored arguments of all tools, for one revision of the catalog. */
interface Mirrored {
  readonly catalog: Catalog;
  readonly revision: number;
  readonly byTool: ReadonlyMap<string, readonly HeaderParam[]>;
}

/** Creates the check of argument headers for the tools of a view. */
export function createArgumentHeaderCheck(
  gateway: () => Gateway,
  view: Pick<View, "listTools">,
): ArgumentHeaderCheck {
  let mirrored: Mirrored | undefined;
  return ({ method, params }, headers) => {
    if (method !== "tools/call" || !isJsonObject(params)) return;
    const { catalog } = gateway();
    if (mirrored?.catalog !== catalog || mirrored.revision !== catalog.revision) {
      mirrored = { catalog, revision: catalog.revision, byTool: findMirrored(view.listTools()) };
    }
    const args = mirrored.byTool.get(String(params["name"])) ?? [];
    for (const arg of args) checkArgument(arg, params["arguments"], headers);
  };
}

function findMirrored(tools: readonly ExposedTool[]): Mirrored["byTool"] {
  const byTool = new Map<string, readonly HeaderParam[]>();
  for (const { name, inputSchema } of tools) {
    const { declarations } = scanHeaderParams(inputSchema);
    if (declarations.length > 0) byTool.set(name, declarations);
  }
  return byTool;
}

function checkArgument(
  { header: name, path }: HeaderParam,
  args: unknown,
  headers: IncomingHttpHeaders,
): void {
  const header = `${PARAM_HEADER_PREFIX}${name}`.toLowerCase();
  const value = getArgument(args, path);
  // Any other value is an invalid argument, which validation reports.
  if (typeof value !== "string" && typeof value !== "boolean" && !Number.isSafeInteger(value)) return;
  const sent = getHeader(headers, header);
  if (sent === undefined) throw mismatch(`The header ${header} is missing.`);
  const text = decodeHeader(sent);
  if (text === undefined) throw mismatch(`The header ${header} is not valid base64.`);
  const isSame =
    typeof value === "number" && DECIMAL.test(text) ? Number(text) === value : text === String(value);
  if (!isSame) throw mismatch(`The header ${header} holds another value than the message.`);
}

/** The value that a header encodes; undefined if it is encoded wrongly. */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice("=?base64?".length, -"?=".length);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}

function checkSupported(params: JsonObject): void {
  try {
    getModernVersion(params);
  } catch (thrown) {
    if (!(thrown instanceof JsonRpcError)) throw thrown;
    throw new HttpRefusal(400, thrown.message, { code: thrown.code, data: thrown.data });
  }
}

function checkRequiredHeaders({ method, params }: Message, headers: IncomingHttpHeaders): void {
  for (const name of ["MCP-Protocol-Version", "Mcp-Method"]) {
    if (getHeader(headers, name.toLowerCase()) === undefined)
      throw mismatch(`The header ${name} is missing.`);
  }
  const field = named[method];
  if (field === undefined) return;
  const header = getHeader(headers, "mcp-name");
  const given = isJsonObject(params) ? params[field] : undefined;
  const name = typeof given === "string" ? given : undefined;
  if (header === undefined) {
    if (name !== undefined) throw mismatch("The header Mcp-Name is missing.");
    return;
  }
  const value = decodeHeader(header);
  if (value === undefined) throw mismatch("The header Mcp-Name is not valid base64.");
  if (name !== undefined && value !== name) {
    throw mismatch(`The header Mcp-Name holds another ${field} than the message.`);
  }
}

function findMeta(params: unknown): Readonly<JsonObject> | undefined {
  return isJsonObject(params) ? getMeta(params) : undefined;
}

/** Whether a request has the metadata that every modern one needs. */
function isComplete({ params }: Message): boolean {
  const meta = findMeta(params);
  return typeof meta?.[VERSION] === "string" && isJsonObject(meta[CAPABILITIES]);
}

function incomplete(): HttpRefusal {
  return new HttpRefusal(400, `The _meta of a request must hold ${VERSION} and ${CAPABILITIES}.`, {
    code: rpcCodes.invalidParams,
  });
}
