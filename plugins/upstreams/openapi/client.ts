import { Buffer } from "node:buffer";
import type { Agent, Dispatcher } from "undici";
import { GatewayError } from "../../../core/mod.ts";
import { tooLarge } from "../http-body.ts";
import { networkError } from "../http-errors.ts";
import { type ConnectorOptions, guardedConnector } from "./connector.ts";
import { unpacked } from "./unpack.ts";

/** A request over the network. */
export interface ClientRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
}

/** The answer to it, whole and unpacked. */
export interface ClientAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether it only tells of a request that was done before: another answer had said so, and led here. */
  readonly isAfterwards?: boolean;
}

/** What bounds one exchange. */
export interface ExchangeLimits {
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

/** Exchanges requests for answers. */
export interface Client {
  /** Redirects are answers here. Rejects with a `GatewayError` whose `data.sent` says whether anything was sent. */
  exchange(request: ClientRequest, limits: ExchangeLimits): Promise<ClientAnswer>;
  close(): Promise<void>;
}

const CONNECTIONS = 16;

/** Makes a client. What it needs is loaded with its first request. */
export function createClient(options: ConnectorOptions): Client {
  let agent: Promise<Agent> | undefined;
  return {
    async exchange(request, limits) {
      agent ??= createAgent(options);
      return exchangeOver(await agent, request, limits);
    },
    async close() {
      await (await agent)?.destroy();
    },
  };
}

async function createAgent(options: ConnectorOptions): Promise<Agent> {
  const undici = await import("undici");
  return new undici.Agent({
    connections: CONNECTIONS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector(undici.buildConnector, options),
  });
}

/** The same error, and whether the request may have been acted upon. */
export function withSent(thrown: unknown, url: URL, sent: boolean): GatewayError {
  const { kind, message, cause, data } = networkError(thrown, url);
  return new GatewayError(kind, message, { cause, data: { ...data, sent } });
}

function exchangeOver(
  agent: Agent,
  { method, url, headers, body }: ClientRequest,
  { maxBytes, signal }: ExchangeLimits,
): Promise<ClientAnswer> {
  return new Promise((resolve, reject) => {
    let sent = false;
    let over = false;
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let answered: Record<string, string> = {};
    let size = 0;
    const chunks: Buffer[] = [];

    const end = (): boolean => {
      if (over) return false;
      over = true;
      signal?.removeEventListener("abort", giveUp);
      return true;
    };
    const fail = (thrown: unknown): void => {
      if (!end()) return;
      reject(withSent(thrown, url, sent));
      controller?.abort(thrown instanceof Error ? thrown : new Error("The request was given up."));
    };
    function giveUp(): void {
      fail(
        GatewayError.is(signal?.reason)
          ? signal.reason
          : new GatewayError("CANCELLED", "The caller cancelled the call."),
      );
    }

    if (signal?.aborted) return giveUp();
    signal?.addEventListener("abort", giveUp, { once: true });
    const options: Dispatcher.DispatchOptions = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: method as Dispatcher.HttpMethod,
      headers: { ...headers, "accept-encoding": "gzip, deflate, br" },
      body: body ?? null,
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given) {
        controller = given;
        // A request that was given up while its connection was made is not written at all.
        if (over) given.abort(new Error("The request was given up."));
        else sent = true;
      },
      onResponseStart(_, code, given) {
        status = code;
        answered = headersOf(given as Record<string, string | string[] | undefined>);
        if (Number(answered["content-length"] ?? 0) > maxBytes) fail(tooLarge(maxBytes));
      },
      onResponseData(_, chunk) {
        size += chunk.length;
        if (size > maxBytes) fail(tooLarge(maxBytes));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (over) return;
        unpacked(Buffer.concat(chunks), answered["content-encoding"], maxBytes).then((bytes) => {
          if (end()) resolve({ status, headers: answered, body: bytes });
        }, fail);
      },
      onResponseError: (_, error) => fail(error),
    };
    try {
      agent.dispatch(options, handler);
    } catch (thrown) {
      fail(thrown);
    }
  });
}

function headersOf(given: Record<string, string | string[] | undefined>): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) headers[name.toLowerCase()] = [value].flat().join(", ");
  }
  return headers;
}
