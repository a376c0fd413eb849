import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import { type Actor, type Gateway, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Route } from "../../core/services/http.ts";
import { getPath } from "../../plugins/lib/http/server-request.ts";
import { HttpRefusal } from "../../plugins/lib/jsonrpc.ts";
import { parseTraceContext } from "../../plugins/lib/telemetry.ts";
import type { Envelope } from "./envelope.ts";
import { runOperation } from "./execute.ts";
import { TOOL_ERROR } from "./failure.ts";

interface RestAnswer {
  readonly status: number;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const OPERATION = /^\/api\/adapters\/([^/]+)\/tools\/([^/]+)$/;
const BOOLEANS: readonly string[] = ["dry_run", "confirmed"];

/** Error codes by HTTP status. Few are 5xx: clients repeat a request by themselves after those. */
const codesByStatus: Readonly<Record<number, readonly string[]>> = {
  400: [
    "INVALID_ARGUMENTS",
    "ARGUMENTS_TOO_DEEP",
    "FORBIDDEN_KEY",
    "IDEMPOTENCY_REQUIRED",
    "IDEMPOTENCY_KEY_INVALID",
  ],
  403: [
    "DENIED",
    "TOOL_DISABLED",
    "SCOPE_REQUIRED",
    "NEEDS_APPROVAL",
    "TOOL_PENDING",
    "CONFIRMATION_DECLINED",
  ],
  404: ["TOOL_NOT_FOUND"],
  409: ["IN_PROGRESS", "OUTCOME_UNKNOWN", "TOOL_CHANGED"],
  413: ["ARGUMENTS_TOO_LARGE"],
  422: ["SCHEMA_TOO_COMPLEX", "IDEMPOTENCY_MISMATCH", "TOOL_ERROR"],
  428: ["CONFIRMATION_REQUIRED", "CONFIRMATION_INVALID"],
  429: ["RATE_LIMITED"],
  502: ["CONNECT_FAILED", "NEEDS_AUTH", "MISSING_VARIABLE"],
  503: [
    "CANCELLED",
    "CLOSED",
    "OVERLOADED",
    "AUDIT_UNAVAILABLE",
    "STATE_UNAVAILABLE",
    "STATE_LOST",
    "STATE_VOLATILE",
    "BREAKER_OPEN",
  ],
  504: ["TIMEOUT"],
};
const statuses = new Map(
  Object.entries(codesByStatus).flatMap(([status, codes]) =>
    codes.map((code) => [code, Number(status)] as const),
  ),
);

/** Returns the HTTP status of a failure. */
export function getRestStatus({ code }: Pick<GatewayError, "code">): number {
  return statuses.get(code) ?? 500;
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
          throw new HttpRefusal(404, "There is nothing at this address.");
        }
        const id = `${decode(adapter)}:${decode(tool)}`;
        const options = parseOptions(request);
        const params = hasBody(request) ? await readJson() : {};
        if (!isJsonObject(params)) throw new HttpRefusal(400, "The arguments must be a JSON object.");
        const gone = new AbortController();
        response.once("close", () => {
          // A call that may change something goes on after its client disconnected.
          if (gateway.catalog.tool(id)?.annotations?.readOnlyHint === true) gone.abort();
        });
        const call = { actor, meta: { ...parseTraceContext(request.headers) }, signal: gone.signal };
        const { envelope, error } = await runOperation(gateway, { id, params, options }, call);
        const failure = error ?? (envelope.isError ? TOOL_ERROR : undefined);
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
    else if (
      name === "timeout" &&
      /^\d+$/.test(value) &&
      Number(value) >= 1 &&
      Number(value) <= LONGEST_TIMER_MS
    ) {
      options[name] = Number(value);
    } else {
      throw new HttpRefusal(
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
    throw new HttpRefusal(400, "The address is encoded wrongly.");
  }
}
