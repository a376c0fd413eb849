import type { IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher, Pool } from "undici";
import { getAbortReason } from "../../../core/mod.ts";
import { type AddressOptions, createHostCheck, guardedConnector } from "./address.ts";
import { toNetworkError, withSent } from "./errors.ts";

/** One HTTP request. */
export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array | Readable | undefined;
}

/** Answer as it comes: redirects are answers, and the body is still compressed. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Options for {@link createExchange}. */
export interface ExchangeOptions extends Partial<AddressOptions> {
  /** Certificates to trust in place of those of the runtime. */
  readonly ca?: string | undefined;
  /** Most connections to one server; unlimited by default. */
  readonly connections?: number | undefined;
  /** False connects without proxies, and anew for every request. */
  readonly pooled?: boolean | undefined;
  readonly connectTimeoutMs?: number | undefined;
}

interface Connections {
  readonly dispatcher: Dispatcher;
  /** Host of a proxy that requests may go through. */
  readonly proxy?: string | undefined;
  checkHost?(url: URL): Promise<void>;
}

const CONNECT_MS = 10_000;

/** Creates an exchange. undici, which takes 110 ms to load, is imported with its first request. */
export function createExchange(options: ExchangeOptions = {}) {
  let opening: Promise<Connections> | undefined;
  return {
    /** Rejects with a `GatewayError` whose `data.sent` says whether the request may have been acted upon; so does the body. */
    async send(request: HttpRequest, signal?: AbortSignal): Promise<HttpAnswer> {
      opening ??= openConnections(options);
      const { dispatcher, proxy, checkHost } = await opening;
      try {
        await checkHost?.(request.url);
      } catch (thrown) {
        throw withSent(toNetworkError(thrown, request.url), false);
      }
      return dispatch(dispatcher, request, { proxy, signal });
    },
    async close() {
      const opened = await opening?.catch(() => undefined);
      await opened?.dispatcher.destroy();
    },
  };
}

async function openConnections(options: ExchangeOptions): Promise<Connections> {
  const {
    addresses = "private",
    lookup,
    ca,
    connections,
    pooled = true,
    connectTimeoutMs = CONNECT_MS,
  } = options;
  const [undici, { readProxySettings, readTlsOptions }] = await Promise.all([
    import("undici"),
    import("./proxy.ts"),
  ]);
  const tls = { timeout: connectTimeoutMs, ...(ca === undefined ? readTlsOptions() : { ca }) };
  const connect = guardedConnector(undici.buildConnector, tls, { addresses, lookup });
  // Deadlines are those of the caller: a stream of events may be silent for long.
  const agent = {
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
    ...(connections !== undefined && { connections }),
  };
  const proxies = pooled ? readProxySettings() : undefined;
  if (!proxies) {
    return { dispatcher: new undici.Agent({ ...agent, ...(!pooled && { pipelining: 0 }) }) };
  }
  return {
    // Plain http is forwarded and not tunneled: many proxies allow tunnels to port 443 only.
    dispatcher: new undici.EnvHttpProxyAgent({
      ...agent,
      ...proxies,
      proxyTunnel: false,
      proxyTls: tls,
      requestTls: tls,
      clientFactory: (origin, given) => withFailingTunnels(new undici.Pool(origin, given)),
    }),
    proxy: new URL(proxies.httpsProxy ?? proxies.httpProxy ?? "").host,
    checkHost: createHostCheck({ addresses, lookup }),
  };
}

/**
 * Fails a request whose tunnel the proxy closes. From this error alone undici concludes that the connection is only to be
 * opened again, and does so for ever, thousands of times a second.
 */
function withFailingTunnels(pool: Pool): Pool {
  const connect = pool.connect.bind(pool) as (options: Dispatcher.ConnectOptions) => Promise<unknown>;
  const open = (options: Dispatcher.ConnectOptions): Promise<unknown> =>
    connect(options).catch((cause: unknown) => {
      if ((cause as { code?: unknown }).code !== "UND_ERR_SOCKET") throw cause;
      throw new Error("The proxy closed the tunnel.", { cause });
    });
  return Object.assign(pool, { connect: open });
}

function dispatch(
  dispatcher: Dispatcher,
  { method, url, headers, body: sentBody }: HttpRequest,
  { proxy, signal }: { readonly proxy: string | undefined; readonly signal: AbortSignal | undefined },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let over = false;
    let controller: Dispatcher.DispatchController | undefined;
    let body: Readable | undefined;

    const end = (): boolean => {
      if (over) return false;
      over = true;
      signal?.removeEventListener("abort", onAbort);
      return true;
    };
    const fail = (thrown: unknown): void => {
      if (!end()) return;
      const network = toNetworkError(thrown, url, proxy);
      const error = withSent(network, sent && network.data["sent"] !== false);
      if (body) body.destroy(error);
      else reject(error);
      controller?.abort(error);
    };
    function onAbort(): void {
      if (signal) fail(getAbortReason(signal));
    }

    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given;
        // A request that was given up while its connection was made is not written at all.
        if (over) given.abort(new Error("The request was given up."));
        else sent = true;
      },
      onResponseStart(_, status, answered) {
        if (status < 200 || over) return;
        body = new Readable({
          read: () => controller?.resume(),
          destroy(error, done) {
            // The reader has stopped before the end.
            if (end()) controller?.abort(error ?? new Error("The answer was not read."));
            done(error);
          },
        });
        // A failure after the last read must not end the process.
        body.on("error", () => {});
        resolve({ status, headers: answered, body });
      },
      onResponseData(_, chunk) {
        if (body?.push(chunk) === false) controller?.pause();
      },
      onResponseEnd() {
        if (end()) body?.push(null);
      },
      onResponseError: (_, error) => fail(error),
    };
    try {
      const options: Dispatcher.DispatchOptions = {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: sentBody ?? null,
        // A proxy that forwards plain http does not have those of the agent.
        headersTimeout: 0,
        bodyTimeout: 0,
      };
      dispatcher.dispatch(options, handler);
    } catch (thrown) {
      fail(thrown);
    }
  });
}
