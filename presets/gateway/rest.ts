import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Actor, type Gateway, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Route } from "../../core/services/http.ts";
import { Refusal } from "../../plugins/lib/http/server-refusal.ts";
import { getPath } from "../../plugins/lib/http/server-request.ts";
import { traceContextIn } from "../../plugins/lib/trace-context.ts";
import type { Envelope } from "./envelope.ts";
import { TOOL_ERROR } from "./failure.ts";
import { runOperation } from "./run-operation.ts";

interface RestAnswer {
  readonly status: number;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const OPERATION = /^\/api\/adapters\/([^/]+)\/tools\/([^/]+)$/;
const BOOLEANS: readonly string[] = ["dry_run", "confirmed"];
const LONGEST_MS = 2 ** 31 - 1;

/** HTTP statuses of failures. Few are 5xx: clients repeat a request by themselves after those. */
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

/** Returns the HTTP status of a failure. */
export function getRestStatus({ code }: Pick<GatewayError, "code">): number {
  return (Object.hasOwn(statuses, code) ? statuses[code] : undefined) ?? 500;
}

/**
 * Creates the routes that serve operations to programs that speak no MCP: `GET /api/adapters`, and
 * `POST /api/adapters/{adapter}/tools/{tool}` with the arguments as its body. The idempotency key comes in the header
 * `Idempotency-Key`; `dry_run`, `confirmed` and `timeout` in the query; the token of a refusal in the header
 * `Confirmation-Token`, or in the query as `confirmation`. The calls pass the same pipeline as those over MCP.
 */
export function createRestRoutes(gateway: Gateway): Readonly<Record<string, Route>> {
  const toErrorBody: Route["toErrorBody"] = (error) => ({ success: false, error });
  return {
    "/api/adapters": {
      methods: ["GET"],
      toErrorBody,
      async handle(request, response, actor) {
        await send(response, await listAdapters(gateway, Object.fromEntries(parseQuery(request)), actor));
      },
    },
    "/api/adapters/*": {
      methods: ["POST"],
      toErrorBody,
      async handle(request, response, actor, readJson) {
        const [, adapter, tool] = OPERATION.exec(getPath(request)) ?? [];
        if (adapter === undefined || tool === undefined) {
          throw new Refusal(404, "There is nothing at this address.");
        }
        const id = `${decode(adapter)}:${decode(tool)}`;
        const options = parseOptions(request);
        const params = hasBody(request) ? await readJson() : {};
        if (!isJsonObject(params)) throw new Refusal(400, "The arguments must be a JSON object.");
        const gone = new AbortController();
        response.once("close", () => {
          // A call that may change something goes on after its client disconnected.
          if (gateway.catalog.tool(id)?.annotations?.readOnlyHint === true) gone.abort();
        });
        const call = { actor, meta: { ...traceContextIn(request.headers) }, signal: gone.signal };
        const { envelope, error } = await runOperation(gateway, { id, params, options }, call);
        const failure = error ?? (envelope.isError ? { code: TOOL_ERROR } : undefined);
        await send(response, {
          status: failure ? getRestStatus(failure) : 200,
          body: toBody(envelope),
          ...(error && { headers: toHeaders(error) }),
        });
      },
    },
  };
}

async function listAdapters(
  gateway: Gateway,
  args: JsonObject,
  actor: Actor | undefined,
): Promise<RestAnswer> {
  const call = await gateway.run({ tool: "gateway:gateway.adapters", args, actor });
  if (call.ok) return { status: 200, body: String(call.result.content[0]?.["text"]) };
  const { code, message } = GatewayError.from(call.error);
  const body = JSON.stringify({ success: false, error: { code, message } });
  return { status: getRestStatus(call.error), body, headers: toHeaders(call.error) };
}

/** Adds content that is not data: over MCP it follows the JSON, here it has to be part of it. */
function toBody({ json, rest }: Envelope): string {
  return rest.length === 0 ? json : `${json.slice(0, -1)},"content":${JSON.stringify(rest)}}`;
}

function toHeaders({ data }: GatewayError): Readonly<Record<string, string>> {
  const retryAfter = data["retry_after"];
  return typeof retryAfter === "number" ? { "retry-after": String(Math.ceil(retryAfter)) } : {};
}

function parseQuery({ url = "" }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

function parseOptions(request: IncomingMessage): JsonObject {
  const { "idempotency-key": key, "confirmation-token": token } = request.headers;
  const options: JsonObject = {};
  // As a string or as a structured field, which is the same in quotes.
  if (typeof key === "string") options["idempotency_key"] = key.trim().replace(/^"(.*)"$/, "$1");
  for (const [name, value] of parseQuery(request)) {
    if (BOOLEANS.includes(name) && /^(true|false)$/.test(value)) options[name] = value === "true";
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
  if (typeof token === "string") options["confirmation"] = token.trim();
  return options;
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

/** Resolves once the answer has been sent, or its client has disconnected. */
async function send(response: ServerResponse, { status, body, headers = {} }: RestAnswer): Promise<void> {
  if (response.destroyed || response.writableEnded) return;
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json",
    "content-length": bytes.length,
  });
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  response.end(bytes);
  await closed;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Refusal(400, "The address is encoded wrongly.");
  }
}
