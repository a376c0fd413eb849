import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Actor, type Gateway, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type TraceContext, traceContextIn } from "../telemetry/trace-context.ts";
import type { Endpoint } from "./_http-endpoint.ts";
import type { Gate } from "./_http-gate.ts";
import { createHandling } from "./_http-handling.ts";
import { notAllowed, Refusal } from "./_http-refusal.ts";
import { type MessageLimits, pathOf, readJson } from "./_http-request.ts";

/** An operation that is to be executed. */
export interface RestOrder {
  readonly adapter: string;
  readonly tool: string;
  readonly args: unknown;
  /** `idempotency_key`, `dry_run`, `confirmed`, `confirmation`, `timeout`. */
  readonly options: JsonObject;
  /** Who orders it. */
  readonly actor: Actor;
  /** Where it belongs to. */
  readonly trace: TraceContext;
  readonly signal?: AbortSignal;
}

/** What is answered, as JSON. */
export interface RestAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a gateway offers to programs that speak no MCP. */
export interface RestApi {
  /** The adapters that these filters leave. */
  list(filters: JsonObject, actor: Actor): Promise<RestAnswer>;
  execute(order: RestOrder): Promise<RestAnswer>;
  /** Whether it is certain that an operation changes nothing. */
  readsOnly(adapter: string, tool: string): boolean;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** There where a gateway is also served over REST. */
    rest?: RestApi;
  }
}

/** What an endpoint for REST is made of. */
export interface RestParts {
  /** The gateway that is served now. */
  readonly gateway: () => Gateway;
  readonly gate: Gate;
  readonly limits: MessageLimits;
}

/** REST beside MCP, at addresses of its own. */
export interface RestEndpoint extends Endpoint {
  /** Whether a request is for it. */
  takes(request: IncomingMessage): boolean;
}

const ROOT = "/api/adapters";
const OPERATION = /^\/api\/adapters\/([^/]+)\/tools\/([^/]+)$/;
const FLAGS: readonly string[] = ["dry_run", "confirmed"];
const LONGEST_MS = 2 ** 31 - 1;

/** What a failure is to HTTP. A client that repeats a request by itself does so after 5xx, so that those are few. */
const statuses: Readonly<Record<string, number>> = {
  TOOL_NOT_FOUND: 404,
  INVALID_ARGUMENTS: 400,
  ARGUMENTS_TOO_DEEP: 400,
  ARGUMENTS_TOO_LARGE: 413,
  FORBIDDEN_KEY: 400,
  SCHEMA_TOO_COMPLEX: 422,
  DENIED: 403,
  TOOL_DISABLED: 403,
  SCOPE_REQUIRED: 403,
  NEEDS_APPROVAL: 403,
  IDEMPOTENCY_REQUIRED: 400,
  IDEMPOTENCY_KEY_INVALID: 400,
  IDEMPOTENCY_MISMATCH: 422,
  IN_PROGRESS: 409,
  OUTCOME_UNKNOWN: 409,
  TOOL_CHANGED: 409,
  TOOL_PENDING: 403,
  CONFIRMATION_REQUIRED: 428,
  CONFIRMATION_INVALID: 428,
  CONFIRMATION_DECLINED: 403,
  RATE_LIMITED: 429,
  TOOL_ERROR: 422,
  TIMEOUT: 504,
  CANCELLED: 503,
  CLOSED: 503,
  OVERLOADED: 503,
  AUDIT_UNAVAILABLE: 503,
  STATE_UNAVAILABLE: 503,
  STATE_VOLATILE: 503,
  BREAKER_OPEN: 503,
  CONNECT_FAILED: 502,
  NEEDS_AUTH: 502,
};

/** The HTTP status of a failure. */
export function statusOf({ code }: Pick<GatewayError, "code">): number {
  return (Object.hasOwn(statuses, code) ? statuses[code] : undefined) ?? 500;
}

/**
 * Serves operations to programs: `GET /api/adapters`, and `POST /api/adapters/{adapter}/tools/{tool}` with the
 * arguments as its body. A key comes in the header `Idempotency-Key`; `dry_run`, `confirmed` and `timeout` in the query;
 * the token of a refusal in the header `Confirmation-Token`, or in the query as `confirmation`.
 */
export function createRest({ gateway, gate, limits }: RestParts): RestEndpoint {
  return {
    takes: (request) =>
      gateway().services.rest !== undefined && /^\/api\/adapters(\/|$)/.test(pathOf(request)),
    ...createHandling({ gateway, serve, bodyOf }),
  };

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    isClosing: boolean,
  ): Promise<void> {
    const path = pathOf(request);
    gate.check(request);
    if (isClosing) throw new Refusal(503, "The gateway is closing.", { headers: { connection: "close" } });
    const api = gateway().services.rest;
    const [, adapter, tool] = OPERATION.exec(path) ?? [];
    if (!api || (path !== ROOT && adapter === undefined)) {
      throw new Refusal(404, "There is nothing at this address.");
    }
    const isList = path === ROOT;
    const allowed = isList ? "GET" : "POST";
    if (request.method !== allowed) throw notAllowed(allowed);
    const actor = await gate.actorOf(request);
    const query = new URLSearchParams((request.url ?? "").split("?").slice(1).join("?"));
    if (isList) return answer(response, await api.list(Object.fromEntries(query), actor));
    const order = { adapter: decoded(adapter), tool: decoded(tool), options: optionsOf(request, query) };
    const args = await argumentsOf(request, limits);
    const gone = new AbortController();
    response.once("close", () => {
      if (api.readsOnly(order.adapter, order.tool)) gone.abort();
    });
    const trace = traceContextIn(request.headers);
    await answer(response, await api.execute({ ...order, args, actor, trace, signal: gone.signal }));
  }
}

function optionsOf({ headers }: IncomingMessage, query: URLSearchParams): JsonObject {
  const options: JsonObject = {};
  const key = headers["idempotency-key"];
  // As text or as a structured field, which is the same in quotes.
  if (typeof key === "string") options["idempotency_key"] = key.trim().replace(/^"(.*)"$/, "$1");
  for (const [name, value] of query) {
    if (FLAGS.includes(name) && /^(true|false)$/.test(value)) options[name] = value === "true";
    else if (name === "confirmation" && value !== "") options[name] = value;
    else if (name === "timeout" && /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= LONGEST_MS) {
      options[name] = Number(value);
    } else {
      throw new Refusal(
        400,
        "The query may hold dry_run and confirmed, true or false, timeout in milliseconds, and confirmation, a token.",
      );
    }
  }
  const token = headers["confirmation-token"];
  if (typeof token === "string") options["confirmation"] = token.trim();
  return options;
}

/** The arguments are the body; none is none. */
async function argumentsOf(request: IncomingMessage, limits: MessageLimits): Promise<unknown> {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return {};
  const body = await readJson(request, limits);
  if (!isJsonObject(body)) throw new Refusal(400, "The arguments must be a JSON object.");
  return body;
}

/** Resolves once it has left, or nobody is there to read it. */
async function answer(response: ServerResponse, { status, body, headers = {} }: RestAnswer): Promise<void> {
  if (response.destroyed || response.writableEnded) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  const left = new Promise<void>((resolve) => response.once("close", resolve));
  response.end(bytes);
  await left;
}

/** Why nothing was done, in the form of any other failure here. */
function bodyOf(thrown: unknown): object {
  const isRefusal = thrown instanceof Refusal;
  const message = isRefusal ? thrown.message : GatewayError.from(thrown).message;
  const code = isRefusal ? (thrown.reason ?? "BAD_REQUEST") : "INTERNAL";
  return { success: false, error: { code, message } };
}

function decoded(part: string | undefined): string {
  try {
    return decodeURIComponent(part ?? "");
  } catch {
    throw new Refusal(400, "The address is encoded wrongly.");
  }
}
