import { type Gateway, GatewayError, type LoadedConfig } from "../../core/mod.ts";
import type { AskLimits } from "./_served-client.ts";

/** What a client may send, and how long it may take. */
export interface HttpLimits {
  /** The size of one message. */
  readonly bytes: number;
  /** The size of all messages together that are being read. */
  readonly bytesAtOnce: number;
  /** The size of all headers of a request. */
  readonly headerBytes: number;
  /** Levels of JSON nesting. */
  readonly depth: number;
  /** How long a client may take to send its headers. */
  readonly headersMs: number;
  /** How long a client may take to send a whole request. */
  readonly requestMs: number;
  /** How often a client that waits hears that it is not forgotten. */
  readonly keepAliveMs: number;
  /** How long a client may take to read what it was sent. */
  readonly stallMs: number;
  /** How long a connection is kept for a next request. */
  readonly idleMs: number;
  readonly connections: number;
}

/** Where to serve. */
export interface HttpOptions {
  /** Any free one by default. */
  readonly port?: number;
  /** An address of this machine; 127.0.0.1 by default. One that others can reach needs the plugin `auth`. */
  readonly host?: string;
  readonly path?: string;
  /** Other names that clients know it by, `name` at any port or `name:port`. */
  readonly allowedHosts?: readonly string[];
  /** Pages of others that may ask, such as `https://app.example`. */
  readonly allowedOrigins?: readonly string[];
  readonly limits?: Partial<HttpLimits>;
  /** Bounds of what clients are asked while their requests are under way. */
  readonly asking?: Partial<AskLimits>;
}

/** A gateway that is served over HTTP. */
export interface HttpServer {
  /** Where clients connect to. */
  readonly url: string;
  /** The gateway that is served now. */
  readonly gateway: Gateway;
  /** Serves another config from now on. If that cannot be set up, it rejects and everything stays as it was. */
  reload(config: LoadedConfig): Promise<void>;
  /**
   * Says that it is about to close: at `/readyz`, and with every answer, which ends its connection. Requests are taken
   * as before. Returns how many milliseconds that should go on, so that nobody is sent here any more when it closes;
   * see the plugin `health`.
   */
  leave(): number;
  /** Takes no more requests, lets the calls on their way finish for up to `drainMs`, then ends everything. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** The limits where none are given. */
export const httpLimits: HttpLimits = {
  bytes: 10_000_000,
  bytesAtOnce: 200_000_000,
  headerBytes: 16_384,
  depth: 128,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 15_000,
  stallMs: 60_000,
  idleMs: 60_000,
  connections: 1_000,
};

/**
 * Serves a gateway over Streamable HTTP, to clients of both eras at one address. It speaks MCP itself: the
 * SDK drops the fields of content that it does not know, fails results with content it does not know, and
 * hears no cancellation from a client of the older era.
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
  { port = 0, host = "127.0.0.1", path = "/mcp", limits, asking = {}, ...allowed }: HttpOptions = {},
): Promise<HttpServer> {
  if (!path.startsWith("/")) {
    throw new GatewayError("CONFIG_INVALID", `The path "${path}" cannot be served: it must begin with "/".`);
  }
  const { allowedHosts = [], allowedOrigins = [] } = allowed;
  for (const name of allowedHosts) checkName(name);
  for (const origin of allowedOrigins) checkOrigin(origin);
  // What serves HTTP is loaded here, so that whoever serves something else does not wait for it.
  const { startHttp } = await import("./_http-server.ts");
  const place = { port, host, path, allowedHosts, allowedOrigins };
  return startHttp(config, { ...place, limits: { ...httpLimits, ...limits }, asking });
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
