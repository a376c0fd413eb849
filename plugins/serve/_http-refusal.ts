import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { RpcError, rpcCodes, rpcErrorOf } from "./protocol.ts";

/** What only HTTP can refuse has no code of its own in JSON-RPC; this is the one that everybody uses for it. */
const TRANSPORT_ERROR = -32_000;
/** The code of a header that does not say what the body says. */
const HEADER_MISMATCH = -32_020;
/** How long a refused body is still read, so that its sender comes to read why. */
const LINGER_MS = 2_000;

/** What else a {@link Refusal} can say. */
export interface RefusalOptions {
  readonly code?: number;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The code of the failure, where it is one that has a code. */
  readonly reason?: string | undefined;
  /** The request that it answers, where that could be read. */
  readonly id?: string | number | undefined;
}

/** Why a request is answered with an error of HTTP, before anything of it was done. */
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

/** A message that is not one of JSON-RPC. */
export function malformed(message: string, id?: string | number): Refusal {
  return new Refusal(400, message, { code: rpcCodes.invalidRequest, id });
}

/** A header and a body that contradict each other. */
export function mismatch(message: string): Refusal {
  return new Refusal(400, message, { code: HEADER_MISMATCH });
}

/** A method of HTTP that has no meaning here. */
export function notAllowed(allowed: string): Refusal {
  return new Refusal(405, "This method is not allowed here.", { headers: { allow: allowed } });
}

/**
 * Answers a request with why it is refused, in JSON-RPC unless another form is given. What is not a refusal is a
 * failure of ours, of which nothing is told.
 */
export async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  thrown: unknown,
  bodyOf: (thrown: unknown) => object = rpcBodyOf,
): Promise<void> {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const refusal = thrown instanceof Refusal ? thrown : undefined;
  const body = JSON.stringify(bodyOf(thrown));
  const isUnread = !request.complete;
  response.writeHead(refusal?.status ?? 500, {
    ...refusal?.headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...(isUnread && { connection: "close" }),
  });
  response.write(body);
  // A connection that is closed on its sender while it sends takes the answer with it.
  if (isUnread) await drained(request);
  response.end();
}

function rpcBodyOf(thrown: unknown): object {
  const id = thrown instanceof Refusal ? thrown.id : undefined;
  return { jsonrpc: "2.0", id: id ?? null, error: rpcErrorOf(thrown) };
}

function drained(request: IncomingMessage): Promise<void> {
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
