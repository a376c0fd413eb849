import { GatewayError, isJsonObject } from "../../../core/mod.ts";
import { NEEDS_AUTH, type RequestTurns, UPSTREAM_PROTOCOL } from "../../../core/services/servers.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { createHttp, type Fetch } from "../../lib/http/client.ts";
import { needsLogin, tooLarge, toStatusError, unexpectedStatus } from "../../lib/http/errors.ts";
import { setHeader } from "../../lib/http/redirect.ts";
import { connectionEnded } from "../errors.ts";
import { type AuthorizationOptions, chooseAuthorization } from "../oauth/authorization.ts";
import type { Authorization } from "../oauth/session.ts";
import { type ConnectMcpOptions, connectMcp, type McpPrior, type McpUpstream } from "../session.ts";
import { createParamHeaders, type ParamHeaders } from "./params.ts";
import { createRemoteTransport, type RemoteTransport } from "./transport.ts";

/** Options of a connection over HTTP. */
export interface ConnectHttpOptions
  extends Omit<ConnectMcpOptions, "opening" | "explain">,
    AuthorizationOptions {
  /** The largest answer, or event of a stream, once decompressed; 10 MB by default. */
  readonly maxBytes?: number | undefined;
  /**
   * A request ends after this long, unless its answer is a stream; 10 minutes by default. The time limit of a
   * call, which holds for streams as well, ends it sooner.
   */
  readonly deadlineMs?: number | undefined;
}

type TransportType = HttpConnection["type"];

/** Facts about a server with a URL that the next connection can use. */
export interface HttpPrior extends McpPrior {
  readonly transport: TransportType;
}

/** A connection over HTTP. */
export interface HttpUpstream extends McpUpstream {
  readonly prior: HttpPrior;
}

/** Status codes of the first answer by which the protocol recognizes a server of HTTP with SSE. */
const SSE_STATUS = new Set([400, 404, 405]);
const START_MS = 10_000;
/** The server found other arguments in the headers than in the message, and did nothing. */
const HEADER_MISMATCH = -32020;

/**
 * Connects to a server over Streamable HTTP or, if the server speaks only that, over HTTP with SSE.
 * Variables in the connection are already filled in. It never waits for a user: a server that wants a
 * login fails with `NEEDS_AUTH`.
 */
export async function connectHttp(
  connection: HttpConnection,
  options: ConnectHttpOptions,
): Promise<HttpUpstream> {
  const { name, prior, events, signal, turns, maxBytes = 10_000_000, deadlineMs = 600_000 } = options;
  const url = parseUrl(connection.url, name);
  const authorization = chooseAuthorization(connection, options);
  const { SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/client"
  );
  const elapsed = (): number => performance.now() - (turns?.waitedMs ?? 0);
  const startBy = elapsed() + (options.startTimeoutMs ?? START_MS);
  const first = isJsonObject(prior) && prior["transport"] === "sse" ? "sse" : connection.type;
  /** The status of the first accepted message, or else of the last refused one. */
  let answer = 0;
  try {
    return await connect(first);
  } catch (thrown) {
    if (connection.type === "sse" || (first === "http" && !SSE_STATUS.has(answer))) throw thrown;
    try {
      return await connect(first === "http" ? "sse" : "http");
    } catch (again) {
      // A server that speaks neither has given the reason to the first attempt.
      throw GatewayError.is(again) && again.code === NEEDS_AUTH.code ? again : thrown;
    }
  }

  async function connect(type: TransportType): Promise<HttpUpstream> {
    const paramHeaders = createParamHeaders();
    const upstream = await connectMcp(() => newTransport(type), {
      name,
      events,
      prior,
      signal,
      capabilities: options.capabilities,
      startTimeoutMs: Math.max(1, startBy - elapsed()),
      startLimitMs: options.startTimeoutMs ?? START_MS,
      listTimeoutMs: options.listTimeoutMs,
      turns,
      opening: type === "http" ? "discover" : "initialize",
      explain: (thrown) => (GatewayError.is(thrown) ? undefined : explain(thrown)),
      createHeaders: paramHeaders.createHeaders,
    });
    const connected: HttpUpstream = { ...upstream, prior: { ...upstream.prior, transport: type } };
    return type === "http" && upstream.prior.protocol === "modern"
      ? withParamHeaders(connected, paramHeaders)
      : connected;
  }

  function newTransport(type: TransportType): RemoteTransport {
    let lastError: unknown;
    const fetch = createServerFetch({
      name,
      authorization,
      turns,
      fetch: createHttp({
        headers: connection.headers,
        maxBytes,
        deadlineMs,
        onDropped(id, { body }) {
          transport.fail(id ?? readRequestId(body), tooLarge(maxBytes));
        },
      }).fetch,
      onAnswer(status) {
        if (type === "sse" && status >= 400) throw unexpectedStatus(status, name);
        if (answer < 200 || answer >= 300) answer = status;
      },
      onSessionLost() {
        const closeReason = "the server no longer knows the session";
        transport.leave(closeReason);
        // A server looks for the session before anything else, so the request had no effect.
        return connectionEnded({ name, closeReason }, { sent: false });
      },
      onError(error) {
        lastError = error;
      },
    });
    // Redirects are followed by our fetch, or not at all.
    const given = { fetch, redirectPolicy: "follow" as const };
    const transport = createRemoteTransport({
      name,
      inner:
        type === "sse" ? new SSEClientTransport(url, given) : new StreamableHTTPClientTransport(url, given),
      singleStream: type === "sse",
      toError: (thrown) =>
        explain(thrown) ?? ((hasEvent(thrown) && explain(lastError)) || toProtocolError(thrown)),
    });
    return transport;
  }

  /** Finds the error of ours that the SDK has wrapped, or the status that it failed on. */
  function explain(thrown: unknown): GatewayError | undefined {
    let next = thrown;
    for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
      if (GatewayError.is(next)) return next;
      if (SdkHttpError.isInstance(next)) return unexpectedStatus(next.status, name);
      next = next.cause;
    }
    return undefined;
  }

  function toProtocolError(cause: unknown): GatewayError {
    const status = hasEvent(cause) && "code" in cause ? cause.code : undefined;
    if (typeof status === "number") return unexpectedStatus(status, name);
    const message = `The server "${name}" sent an invalid answer.`;
    return new GatewayError(UPSTREAM_PROTOCOL, message, { cause });
  }
}

/** Repeats arguments in headers, as only the modern protocol wants. */
function withParamHeaders(upstream: HttpUpstream, headers: ParamHeaders): HttpUpstream {
  const list: HttpUpstream["list"] = async (given) => headers.learn(await upstream.list(given));
  return {
    ...upstream,
    list,
    call: (...given) =>
      upstream.call(...given).catch(async (thrown: unknown) => {
        if (!GatewayError.is(thrown) || thrown.data["rpcCode"] !== HEADER_MISMATCH) throw thrown;
        // The headers of the tool have changed, or were never read: its definition came from a snapshot.
        await list();
        return upstream.call(...given);
      }),
  };
}

/** The library that reads the stream of HTTP with SSE turns every error into an event. */
function hasEvent(thrown: unknown): thrown is Error {
  return thrown instanceof Error && "event" in thrown;
}

function readRequestId(body: RequestInit["body"]): string | number | undefined {
  if (typeof body !== "string") return undefined;
  return (JSON.parse(body) as { id?: string | number }).id;
}

function parseUrl(url: string, name: string): URL {
  if (URL.canParse(url) && /^https?:/i.test(url)) return new URL(url);
  throw new GatewayError(
    "CONFIG_INVALID",
    `The URL of the server "${name}" is not one that can be reached over http or https.`,
  );
}

interface ServerFetchOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly fetch: Fetch;
  readonly authorization: Authorization;
  readonly turns: RequestTurns | undefined;
  /** Called with the status of every answer to a message. An error that it throws replaces the answer. */
  readonly onAnswer: (status: number) => void;
  /** Called when the server no longer knows the session. Returns the error to fail with. */
  readonly onSessionLost: () => GatewayError;
  /** Called with the reason of a failed request, which some libraries do not pass on. */
  readonly onError: (error: unknown) => void;
}

/** Makes the `fetch` for the messages to a server: it authorizes requests, and turns a status into an error of ours. */
function createServerFetch(options: ServerFetchOptions): Fetch {
  const { name, authorization, turns, onAnswer, onSessionLost, onError } = options;
  const fetch: Fetch = turns
    ? async (url, init) => {
        await turns.take();
        return options.fetch(url, init);
      }
    : options.fetch;
  return async (url, init = {}) => {
    try {
      const response = await sendAuthorized(url, init);
      if (init.method !== "POST") return response;
      onAnswer(response.status);
      return await checkSession(response, init);
    } catch (thrown) {
      onError(thrown);
      throw thrown;
    }
  };

  async function sendAuthorized(url: string | URL, init: RequestInit): Promise<Response> {
    const value = await authorization.header();
    let response = await fetch(url, withAuthorization(init, value));
    if (response.status === 401) {
      await response.body?.cancel();
      response = await fetch(url, withAuthorization(init, await authorization.refused(value)));
    }
    const error = response.status === 401 ? needsLogin(name) : toStatusError(response, name);
    if (!error) return response;
    await response.body?.cancel();
    const { scope } = error.data;
    if (typeof scope === "string") await authorization.wants?.(scope);
    throw error;
  }

  /** A server that was restarted knows no session. It should answer 404; many answer 400 with a reason. */
  async function checkSession(response: Response, init: RequestInit): Promise<Response> {
    const { status, statusText, headers } = response;
    if ((status !== 404 && status !== 400) || !new Headers(init.headers).has("mcp-session-id"))
      return response;
    const text = await response.text();
    if (status === 404 || /session/i.test(text)) throw onSessionLost();
    return new Response(text, { status, statusText, headers });
  }
}

function withAuthorization(init: RequestInit, value: string | undefined): RequestInit {
  if (value === undefined) return init;
  const headers = new Headers(init.headers);
  setHeader(headers, "authorization", value);
  return { ...init, headers };
}
