import { GatewayError, isJsonObject } from "../../core/mod.ts";
import type { HttpConnection } from "../sources/server-config.ts";
import { connectionEnded } from "./_mcp-errors.ts";
import { NEEDS_AUTH, UPSTREAM_PROTOCOL } from "./errors.ts";
import { type AuthorizationOptions, authorizationOf } from "./http-authorization.ts";
import { tooLarge } from "./http-body.ts";
import { unexpectedStatus } from "./http-errors.ts";
import { guardedFetch } from "./http-fetch.ts";
import { withUsableParams } from "./http-params.ts";
import { serverFetch } from "./http-server-fetch.ts";
import { type RemoteTransport, remoteTransport } from "./http-transport.ts";
import { type ConnectMcpOptions, connectMcp, type McpPrior, type McpUpstream } from "./mcp.ts";

/** How a server is reached that has a URL. */
export interface ConnectHttpOptions
  extends Omit<ConnectMcpOptions, "opening" | "explain">,
    AuthorizationOptions {
  /** What one answer, or one event of a stream, may be once decompressed; 10 MB by default. */
  readonly maxBytes?: number | undefined;
  /**
   * A request ends after this long, unless its answer is a stream; 10 minutes by default. The time limit of a
   * call, which holds for streams as well, ends it sooner.
   */
  readonly deadlineMs?: number | undefined;
}

type TransportType = HttpConnection["type"];

/** What is worth remembering of a server that has a URL. */
export interface HttpPrior extends McpPrior {
  readonly transport: TransportType;
}

/** A connection to a server that has a URL. */
export interface HttpUpstream extends McpUpstream {
  readonly prior: HttpPrior;
}

/** Answers to the first message that the protocol names as those of a server of the older kind. */
const OLDER_KIND = new Set([400, 404, 405]);
const START_MS = 10_000;

/**
 * Connects to a server by Streamable HTTP or, where that is what it speaks, by the older HTTP with SSE.
 * Variables in the connection are already filled in. It never waits for a person: a server that wants a
 * login fails with `NEEDS_AUTH`.
 */
export async function connectHttp(
  connection: HttpConnection,
  options: ConnectHttpOptions,
): Promise<HttpUpstream> {
  const { name, prior, events, signal, maxBytes = 10_000_000, deadlineMs = 600_000 } = options;
  const url = parsed(connection.url, name);
  const authorization = authorizationOf(connection, options);
  const { SdkHttpError, SSEClientTransport, StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/client"
  );
  const startBy = performance.now() + (options.startTimeoutMs ?? START_MS);
  const first = isJsonObject(prior) && prior["transport"] === "sse" ? "sse" : connection.type;
  /** The first answer that a message was accepted with, or else the last that it was not. */
  let answer = 0;
  try {
    return await connect(first);
  } catch (thrown) {
    if (connection.type === "sse" || (first === "http" && !OLDER_KIND.has(answer))) throw thrown;
    try {
      return await connect(first === "http" ? "sse" : "http");
    } catch (again) {
      // A server that speaks neither has said why to the first try.
      throw GatewayError.is(again) && again.code === NEEDS_AUTH.code ? again : thrown;
    }
  }

  async function connect(type: TransportType): Promise<HttpUpstream> {
    const upstream = await connectMcp(() => newTransport(type), {
      name,
      events,
      prior,
      signal,
      capabilities: options.capabilities,
      startTimeoutMs: Math.max(1, startBy - performance.now()),
      opening: type === "http" ? "discover" : "initialize",
      explain: (thrown) => (GatewayError.is(thrown) ? undefined : explain(thrown)),
    });
    // Only the newer era repeats arguments in headers.
    const list: McpUpstream["list"] =
      type === "http" && upstream.prior.era === "modern"
        ? async (given) => withUsableParams(await upstream.list(given))
        : upstream.list;
    return { ...upstream, list, prior: { ...upstream.prior, transport: type } };
  }

  function newTransport(type: TransportType): RemoteTransport {
    let lastError: unknown;
    const fetch = serverFetch({
      name,
      authorization,
      fetch: guardedFetch({
        headers: connection.headers,
        maxBytes,
        deadlineMs,
        onDropped(id, { body }) {
          transport.fail(id ?? requestId(body), tooLarge(maxBytes));
        },
      }),
      onAnswer(status) {
        if (type === "sse" && status >= 400) throw unexpectedStatus(status, name);
        if (answer < 200 || answer >= 300) answer = status;
      },
      onSessionLost() {
        transport.lose("the server no longer knows the session");
        return connectionEnded({ name, closeReason: transport.closeReason });
      },
      onError(error) {
        lastError = error;
      },
    });
    // Redirects are followed by our fetch, or not at all.
    const given = { fetch, redirectPolicy: "follow" as const };
    const transport = remoteTransport({
      name,
      inner:
        type === "sse" ? new SSEClientTransport(url, given) : new StreamableHTTPClientTransport(url, given),
      singleStream: type === "sse",
      toError: (thrown) =>
        explain(thrown) ?? ((hasEvent(thrown) && explain(lastError)) || unreadable(thrown)),
    });
    return transport;
  }

  /** Finds the error of ours that the SDK has wrapped, or the status that it stumbled over. */
  function explain(thrown: unknown): GatewayError | undefined {
    let next = thrown;
    for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
      if (GatewayError.is(next)) return next;
      if (SdkHttpError.isInstance(next)) return unexpectedStatus(next.status, name);
      next = next.cause;
    }
    return undefined;
  }

  function unreadable(cause: unknown): GatewayError {
    const status = hasEvent(cause) && "code" in cause ? cause.code : undefined;
    if (typeof status === "number") return unexpectedStatus(status, name);
    const message = `The server "${name}" answered in a way that cannot be understood.`;
    return new GatewayError(UPSTREAM_PROTOCOL, message, { cause });
  }
}

/** The library that reads the older kind of stream flattens every error into an event. */
function hasEvent(thrown: unknown): thrown is Error {
  return thrown instanceof Error && "event" in thrown;
}

function requestId(body: RequestInit["body"]): string | number | undefined {
  if (typeof body !== "string") return undefined;
  return (JSON.parse(body) as { id?: string | number }).id;
}

function parsed(url: string, name: string): URL {
  if (URL.canParse(url) && /^https?:/i.test(url)) return new URL(url);
  throw new GatewayError(
    "CONFIG_INVALID",
    `The URL of the server "${name}" is not one that can be reached over http or https.`,
  );
}
