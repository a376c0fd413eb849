import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { GatewayError } from "../../core/mod.ts";
import { waitAtMost } from "./backoff.ts";

/** Error codes of JSON-RPC, and those that MCP adds. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** Severities of messages in ascending order, as MCP takes them from syslog. */
export const messageLevels = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** Severity of a message. */
export type MessageLevel = (typeof messageLevels)[number];

/** Error of the protocol itself, sent to the client as it is. */
export class JsonRpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Converts an error for a JSON-RPC answer: code, message, and only data that any client may see. */
export function toRpcError(thrown: unknown): { code: number; message: string; data?: unknown } {
  if (thrown instanceof JsonRpcError) {
    return {
      code: thrown.code,
      message: thrown.message,
      ...(thrown.data !== undefined && { data: thrown.data }),
    };
  }
  const error = GatewayError.from(thrown);
  const { requiredCapabilities } = error.data;
  const required = error.kind.rpc === rpcCodes.missingCapability && { requiredCapabilities };
  return { code: error.kind.rpc, message: error.message, data: { code: error.kind.spec, ...required } };
}

/** A failed execution, in the form of the specification. */
export interface ExecutionError {
  readonly code: string;
  readonly message: string;
  readonly server: string;
  readonly tool: string;
  /** Facts beside the message: structured content of a failed tool, or the code of a failed connection. */
  readonly details?: unknown;
}

/** Name of failed connections where they are an error of their own, and not the outcome of an execution. */
const CONNECTION = "SERVER_CONNECTION_ERROR";
const EXECUTION = "TOOL_EXECUTION_ERROR";

/** Converts an error of the gateway. An execution that cannot reach its server has failed as any other, with details. */
export function toExecutionError<Name>(
  { kind, message }: GatewayError,
  server: Name,
  tool: Name,
): Omit<ExecutionError, "server" | "tool"> & { readonly server: Name; readonly tool: Name } {
  const failure = { code: kind.spec, message, server, tool };
  return kind.spec === CONNECTION ? { ...failure, code: EXECUTION, details: { code: CONNECTION } } : failure;
}

/** Creates the error for an unknown method. */
export function methodNotFound(method: string): JsonRpcError {
  return new JsonRpcError(rpcCodes.methodNotFound, `There is no method "${method.slice(0, 80)}".`);
}

/** Creates the error for params that a method does not accept. */
export function invalidParams(message: string, data?: unknown): JsonRpcError {
  return new JsonRpcError(rpcCodes.invalidParams, message, data);
}

/** Code in common use for refusals by HTTP: JSON-RPC has none. */
const TRANSPORT_ERROR = -32_000;
const HEADER_MISMATCH = -32_020;
/** Milliseconds that a refused body is still read, so that its sender comes to read the answer. */
const LINGER_MS = 2_000;

interface RefusalOptions {
  readonly code?: number;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly reason?: string | undefined;
  /** Id of the refused request, if it could be read. */
  readonly id?: string | number | undefined;
}

/** Error that is answered with an HTTP status before any work is done. */
export class HttpRefusal extends JsonRpcError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: string | undefined;
  id: string | number | undefined;

  constructor(status: number, message: string, options: RefusalOptions = {}) {
    super(options.code ?? TRANSPORT_ERROR, message, options.data);
    this.status = status;
    this.headers = options.headers ?? {};
    this.reason = options.reason;
    this.id = options.id;
  }
}

/** Creates the refusal of a message that is not JSON-RPC. */
export function malformed(message: string, id?: string | number): HttpRefusal {
  return new HttpRefusal(400, message, { code: rpcCodes.invalidRequest, id });
}

/** Creates the refusal of a header and a body that contradict each other. */
export function mismatch(message: string): HttpRefusal {
  return new HttpRefusal(400, message, { code: HEADER_MISMATCH });
}

/** Creates the refusal of an HTTP method. */
export function notAllowed(allowed: string): HttpRefusal {
  return new HttpRefusal(405, "This method is not allowed here.", { headers: { allow: allowed } });
}

/**
 * Answers a request with the reason of its refusal, in JSON-RPC unless another form is given. Any other error is a
 * failure of ours, of which the client learns nothing.
 */
export async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  toBody: (thrown: unknown) => object = toRpcBody,
): Promise<void> {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const refusal = thrown instanceof HttpRefusal ? thrown : undefined;
  const body = JSON.stringify(toBody(thrown));
  const isUnread = !request.complete;
  response.writeHead(refusal?.status ?? 500, {
    ...refusal?.headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(isUnread && { connection: "close" }),
  });
  response.write(body);
  // If a connection is closed while its client still sends, the answer is lost.
  if (isUnread) await drain(request);
  response.end();
}

function toRpcBody(thrown: unknown): object {
  const id = thrown instanceof HttpRefusal ? thrown.id : undefined;
  return { jsonrpc: "2.0", id: id ?? null, error: toRpcError(thrown) };
}

function drain(request: IncomingMessage): Promise<void> {
  request.on("error", () => {});
  request.resume();
  const ended = new Promise<void>((resolve) => request.once("close", resolve).once("end", resolve));
  return waitAtMost(ended, LINGER_MS);
}
