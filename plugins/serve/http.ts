import { GatewayError, type LoadedConfig } from "../../core/mod.ts";
import type { ClientLimits } from "./client/pending.ts";
import type { Reloadable } from "./reloadable.ts";

/** Default limits of requests over HTTP. */
export const httpLimits = {
  /** Bytes of one message. */
  bytes: 10_000_000,
  /** Bytes of all messages together that are being read. */
  bytesAtOnce: 200_000_000,
  /** Bytes of all headers of a request. */
  headerBytes: 16_384,
  /** Levels of JSON nesting. */
  depth: 128,
  /** Milliseconds that a client has to send its headers. */
  headersMs: 10_000,
  /** Milliseconds that a client has to send a whole request. */
  requestMs: 30_000,
  /** Milliseconds between the keep-alive comments that a waiting client gets. */
  keepAliveMs: 15_000,
  /** Milliseconds that a client has to read what it was sent. */
  stallMs: 60_000,
  /** Milliseconds that an idle connection is kept open. */
  idleMs: 60_000,
  connections: 1_000,
  /** Connections from one address, which may be that of a load balancer. */
  connectionsPerAddress: 750,
  /** Streams of one caller that only carry notifications. */
  streamsPerCaller: 250,
  /** Messages of one caller that arrive slowly: each takes longer than a second. */
  slowBodiesPerCaller: 64,
};

/** Limits of requests over HTTP. */
export type HttpServerLimits = Readonly<typeof httpLimits>;

/** Options of {@link serveHttp}. */
export interface HttpServerOptions {
  /** Any free port by default. */
  readonly port?: number;
  /** An address of this machine; 127.0.0.1 by default. One that other machines can reach needs the plugin `auth`. */
  readonly host?: string;
  readonly path?: string;
  /** Other host names of the gateway, `name` at any port or `name:port`. */
  readonly allowedHosts?: readonly string[];
  /** Origins whose pages may send requests, such as `https://app.example`. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<HttpServerLimits>;
  /** Limits of what clients are asked while their requests run. */
  readonly clientLimits?: Partial<ClientLimits>;
}

/** A gateway served over HTTP. */
export interface HttpServer extends Omit<Reloadable, "instructions"> {
  /** The address that clients connect to. */
  readonly url: string;
  /**
   * Announces that it is about to close: at `/readyz`, and with every answer, which ends its connection. Requests are
   * taken as before. Returns the milliseconds to go on so, until no load balancer sends requests here any more; see the
   * plugin `health`.
   */
  leave(): number;
}

/**
 * Serves a gateway over Streamable HTTP, to clients of legacy and modern protocol versions at one address. It speaks MCP
 * itself: the SDK drops the fields of content that it does not know, fails results with content it does not know, and
 * ignores the cancellations of legacy clients.
 *
 * @example
 * ```ts
 * import { serveHttp } from "toolpipe/plugins/serve";
 * import { anygpt } from "toolpipe/presets/anygpt";
 *
 * const server = await serveHttp({ preset: anygpt }, { port: 8080 });
 * console.log(server.url); // http://127.0.0.1:8080/mcp
 * await server.close({ drainMs: 5_000 });
 * ```
 */
export async function serveHttp(
  config: LoadedConfig,
  {
    port = 0,
    host = "127.0.0.1",
    path = "/mcp",
    limits,
    clientLimits = {},
    ...allowed
  }: HttpServerOptions = {},
): Promise<HttpServer> {
  if (!path.startsWith("/")) {
    throw new GatewayError("CONFIG_INVALID", `The path "${path}" cannot be served: it must begin with "/".`);
  }
  const { allowedHosts = [], allowedOrigins = [] } = allowed;
  for (const name of allowedHosts) checkName(name);
  for (const origin of allowedOrigins) checkOrigin(origin);
  // Loaded on first use, so that a start on stdio does not wait for it.
  const { startHttp } = await import("./http/server.ts");
  const place = { port, host, path, allowedHosts, allowedOrigins };
  return startHttp(config, { ...place, limits: { ...httpLimits, ...limits }, clientLimits });
}

function checkName(name: string): void {
  if (URL.canParse(`http://${name}`) && new URL(`http://${name}`).origin.endsWith(`//${name.toLowerCase()}`))
    return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The allowed host ${JSON.stringify(name.slice(0, 100))} is none: write a name, or a name and a port, such as gateway.example or gateway.example:8443.`,
  );
}

function checkOrigin(origin: string): void {
  const isOne = URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase();
  if (isOne && /^https?:/i.test(origin)) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The allowed origin ${JSON.stringify(origin.slice(0, 100))} is none: write it as a browser does, such as https://app.example.`,
  );
}
