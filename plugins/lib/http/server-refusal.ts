import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RpcError, rpcCodes, toRpcError } from "../jsonrpc.ts";

/** A refusal by HTTP has no code of its own in JSON-RPC; this is the one in common use. */
const TRANSPORT_ERROR = -32_000;
/** The code of a header that contradicts the body. */
const HEADER_MISMATCH = -32_020;
/** Milliseconds that a refused body is still read, so that its sender comes to read the answer. */
const LINGER_MS = 2_000;

/** Options of a {@link Refusal}. */
export interface RefusalOptions {
  readonly code?: number;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The code of the failure, if it has one. */
  readonly reason?: string | undefined;
  /** The id of the request that it answers, if that could be read. */
  readonly id?: string | number | undefined;
}

/** The reason to answer a request with an HTTP error, before anything of it was done. */
export class Refusal extends RpcError {
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

/** The refusal of a message that is not one of JSON-RPC. */
export function malformed(message: string, id?: string | number): Refusal {
  return new Refusal(400, message, { code: rpcCodes.invalidRequest, id });
}

/** The refusal of a header and a body that contradict each other. */
export function mismatch(message: string): Refusal {
  return new Refusal(400, message, { code: HEADER_MISMATCH });
}

/** The refusal of an HTTP method. */
export function notAllowed(allowed: string): Refusal {
  return new Refusal(405, "This method is not allowed here.", { headers: { allow: allowed } });
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
  const refusal = thrown instanceof Refusal ? thrown : undefined;
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
  const id = thrown instanceof Refusal ? thrown.id : undefined;
  return { jsonrpc: "2.0", id: id ?? null, error: toRpcError(thrown) };
}

function drain(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS);
    request.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    request.once("end", () => {
      clearTimeout(timer);
      resolve();
    });
    request.on("error", () => {});
    request.resume();
  });
}
