import { setMaxListeners } from "node:events";
import { GatewayError, version } from "../../../core/mod.ts";
import { UPSTREAM_PROTOCOL } from "../../../core/services/servers.ts";
import {
  ACCEPT_ENCODING,
  collectBody,
  filterBody,
  limitBody,
  limitEvents,
  toUnpackError,
  unpack,
} from "./body.ts";
import { tooLarge, withSent } from "./errors.ts";
import { createExchange, type ExchangeOptions, type HttpAnswer, type HttpRequest } from "./exchange.ts";
import {
  checkHeaders,
  isEventStream,
  joinHeaders,
  nextRequest,
  type RedirectRules,
  removeUser,
  toHeaders,
  toRedirectError,
} from "./redirect.ts";

/** Subset of `fetch` that the protocol needs. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Limits of one request and its redirects together. */
interface HttpLimits {
  /** Largest answer, or event of a stream, once decompressed. */
  readonly maxBytes: number;
  /** Limit for the whole request, however slowly its answer comes in. A stream of events is ended by its reader. */
  readonly deadlineMs: number;
}

/** Options for {@link createHttp}. */
export interface HttpOptions extends HttpLimits, Omit<ExchangeOptions, "pooled"> {
  /** Sent to the origin of the first URL of a request, and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `message` by default. */
  readonly redirects?: RedirectRules;
  /** Called before a redirect is followed; what it throws is the error of the request. */
  readonly onRedirect?: (from: URL, to: URL) => void;
  /** Called with an event that is too large and left out: the id of its message once it is known, and the request. */
  readonly onDropped?: (id: string | number | undefined, init: RequestInit) => void;
}

/** Answer that was read as a whole. */
export interface HttpResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether a 303 led here: the answer is about a request that was done before. */
  readonly isAfterwards?: boolean;
}

/** HTTP client for untrusted servers: every answer is limited in time and size. */
export interface Http {
  /** Works as `fetch` does. Streams of events are passed on as they come. */
  readonly fetch: Fetch;
  /** Reads the answer as a whole. Rejects with a `GatewayError` whose `data.sent` says whether it may have been acted upon. */
  send(
    request: HttpRequest & { readonly signal?: AbortSignal },
    limits?: Partial<HttpLimits>,
  ): Promise<HttpResult>;
  /** Ends its connections, and the requests on them. Idle ones end by themselves. */
  close(): Promise<void>;
}

interface Opened extends HttpAnswer {
  readonly isAfterwards: boolean;
}

const MAX_REDIRECTS = 5;
const NO_BODY = new Set([204, 205, 304]);

/** Creates an HTTP client. */
export function createHttp(options: HttpOptions): Http {
  const { maxBytes, deadlineMs, redirects = "message", onRedirect, onDropped } = options;
  const ownHeaders = checkHeaders(options.headers ?? {});
  const exchange = createExchange(options);

  return {
    async fetch(url, init = {}) {
      const deadline = startDeadline(deadlineMs, init.signal ?? undefined);
      try {
        const request = await toRequest(new URL(url), init);
        const answer = await open(request, maxBytes, deadline.signal, init.redirect === "manual");
        return toResponse(answer, init, deadline);
      } catch (thrown) {
        deadline.end();
        throw init.signal?.aborted ? init.signal.reason : thrown;
      }
    },
    async send({ signal, ...request }, limits = {}) {
      const most = limits.maxBytes ?? maxBytes;
      const deadline = startDeadline(limits.deadlineMs ?? deadlineMs, signal);
      try {
        const headers = { ...Object.fromEntries(ownHeaders), ...request.headers };
        const answer = await open({ ...request, headers }, most, deadline.signal, false);
        const body = await collectBody(answer.body, most).catch((thrown: unknown) => {
          throw withSent(toBodyError(thrown), true);
        });
        const { status, isAfterwards } = answer;
        return { status, headers: joinHeaders(answer.headers), body, ...(isAfterwards && { isAfterwards }) };
      } finally {
        deadline.end();
      }
    },
    close: () => exchange.close(),
  };

  async function open(
    first: HttpRequest,
    maxBytes: number,
    signal: AbortSignal,
    isManual: boolean,
  ): Promise<Opened> {
    const headers = { "user-agent": `toolpipe/${version}`, accept: "*/*", ...first.headers };
    let request: HttpRequest = { ...first, headers: { ...headers, "accept-encoding": ACCEPT_ENCODING } };
    let isAfterwards = false;
    for (let hops = 0; ; hops++) {
      const { status, headers, body } = await exchange.send(request, signal).catch((thrown: GatewayError) => {
        throw hops === 0 ? thrown : afterRedirect(thrown);
      });
      try {
        const next = isManual ? undefined : nextRequest(request, { status, headers }, redirects, ownHeaders);
        if (!next || (hops === MAX_REDIRECTS && redirects === "web")) {
          const isEmpty = NO_BODY.has(status) || request.method === "HEAD";
          if (!isEmpty && !isEventStream(headers) && Number(headers["content-length"] ?? 0) > maxBytes)
            throw tooLarge(maxBytes);
          const coding = isEmpty || headers["content-length"] === "0" ? "" : headers["content-encoding"];
          return { status, headers, body: unpack(body, coding), isAfterwards };
        }
        if (hops === MAX_REDIRECTS)
          throw toRedirectError(request.url, `it redirects more than ${MAX_REDIRECTS} times`);
        onRedirect?.(request.url, next.url);
        isAfterwards ||= next.method !== request.method;
        request = next;
      } catch (thrown) {
        body.destroy();
        throw afterRedirect(thrown);
      }
      body.destroy();
    }
  }

  /** A redirected message was not acted upon; with `web` rules the first request was answered, even if the next fails. */
  function afterRedirect(thrown: unknown): unknown {
    return redirects === "web" && GatewayError.is(thrown) ? withSent(thrown, true) : thrown;
  }

  function toResponse({ status, headers, body }: Opened, init: RequestInit, deadline: Deadline): Response {
    if (status > 599)
      throw new GatewayError(UPSTREAM_PROTOCOL, `The server answered with the status ${status}.`);
    const given = { status, headers: toHeaders(headers) };
    if (NO_BODY.has(status)) {
      body.destroy();
      deadline.end();
      return new Response(null, given);
    }
    const isStream = isEventStream(headers);
    if (isStream) deadline.disarm();
    const filter = isStream ? limitEvents(maxBytes, (id) => onDropped?.(id, init)) : limitBody(maxBytes);
    const toError = (thrown: unknown): unknown =>
      init.signal?.aborted ? init.signal.reason : toBodyError(thrown);
    return new Response(filterBody(body, filter, deadline.end, toError), given);
  }

  /** Headers of the request win over those of the client. A user in the URL is sent as a header. */
  async function toRequest(url: URL, init: RequestInit): Promise<HttpRequest> {
    const headers = new Headers(init.headers);
    for (const [name, value] of ownHeaders) if (!headers.has(name)) headers.set(name, value);
    if (url.username && !headers.has("authorization")) {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
      headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    }
    const body = await toBytes(init.body, headers);
    return {
      method: init.method ?? "GET",
      url: removeUser(url),
      headers: Object.fromEntries(headers),
      ...(body !== undefined && { body }),
    };
  }
}

/** Encodes forms and the like as `fetch` does. */
async function toBytes(
  body: RequestInit["body"],
  headers: Headers,
): Promise<string | Uint8Array | undefined> {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  const encoded = new Response(body);
  const type = encoded.headers.get("content-type");
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  return new Uint8Array(await encoded.arrayBuffer());
}

/** A body fails with an error of the exchange, with one of ours, or because it cannot be decompressed. */
function toBodyError(thrown: unknown): GatewayError {
  return GatewayError.is(thrown) ? thrown : toUnpackError(thrown);
}

interface Deadline {
  readonly signal: AbortSignal;
  /** Lets the request take as long as it needs; it still ends with the signal of its caller. */
  disarm(): void;
  end(): void;
}

function startDeadline(deadlineMs: number, outer: AbortSignal | undefined): Deadline {
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(outer?.reason);
  const timer = setTimeout(() => {
    const message = `The server did not answer within ${deadlineMs} ms.`;
    abort.abort(new GatewayError("TIMEOUT", message, { data: { ms: deadlineMs } }));
  }, deadlineMs);
  if (outer?.aborted) onAbort();
  // All requests of a connection share one signal; more than ten of them at once are no leak.
  if (outer) setMaxListeners(0, outer);
  outer?.addEventListener("abort", onAbort, { once: true });
  const disarm = (): void => clearTimeout(timer);
  return {
    signal: abort.signal,
    disarm,
    end() {
      disarm();
      outer?.removeEventListener("abort", onAbort);
    },
  };
}
