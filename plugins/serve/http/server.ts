import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type CloseOptions, GatewayError, type LoadedConfig, type Plugin } from "../../../core/mod.ts";
import { waitAtMost } from "../../lib/backoff.ts";
import { getPath, isLoopback, toUrlHost, withPathCheck } from "../../lib/http/server-request.ts";
import { HttpRefusal, refuse } from "../../lib/jsonrpc.ts";
import type { HttpServer, HttpServerLimits, HttpServerOptions } from "../http.ts";
import { type Reloadable, serveReloadable } from "../reloadable.ts";
import { createView } from "../view.ts";
import { limitConnections } from "./connection-limit.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import { answerCors, createGate } from "./gate.ts";
import { createRoutesEndpoint } from "./routes.ts";
import { createSlowBodies } from "./slow-bodies.ts";

/** Milliseconds to send the last answers, once all calls have ended. */
const FLUSH_MS = 2_000;

type Settings = Required<HttpServerOptions> & { readonly limits: HttpServerLimits };

/** A gateway with the endpoints of its port. */
interface Opened {
  readonly served: Reloadable;
  readonly endpoints: readonly Endpoint[];
  /** The endpoint that answers a request. */
  readonly findEndpoint: (request: IncomingMessage) => Endpoint;
  /** Whether a request is for a route without authentication, such as that of the health. */
  readonly isProbe: (request: IncomingMessage) => boolean;
}

/** Opens the port first, then the gateway: a port in use is reported before any server is started. */
export async function startHttp(config: LoadedConfig, settings: Settings): Promise<HttpServer> {
  const { port, host, path, limits, allowedOrigins } = settings;
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: Math.max(limits.requestMs, limits.headersMs),
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    keepAliveTimeout: limits.idleMs,
  });
  const { isReserve } = limitConnections(server, limits);

  const listening = listen(server, port, host);
  const opened = listening.then((bound) => open(config, settings, bound));
  const connections = createConnectionCloser();
  server.on("request", (request, response) => {
    connections.track(response);
    opened.then(
      ({ findEndpoint, isProbe }) => {
        const isBusy = isReserve(request.socket);
        if (isBusy) response.setHeader("connection", "close");
        if (isBusy && !isProbe(request)) return refuse(request, response, tooManyConnections());
        if (!answerCors(request, response, allowedOrigins)) findEndpoint(request).handle(request, response);
      },
      () => response.destroy(),
    );
  });
  try {
    const { served, endpoints } = await opened;
    // A connection that could not be accepted is no reason to end.
    server.on("error", (error) => served.gateway.report(GatewayError.from(error)));
    let closing: Promise<void> | undefined;
    const leave = (): number => {
      connections.close();
      return served.gateway.services.readiness?.leave() ?? 0;
    };
    return {
      leave,
      url: toUrl(host, (await listening).port, path),
      get gateway() {
        return served.gateway;
      },
      reload: async (next) => served.reload(requireAuth(next, host, await listening)),
      close(drain) {
        leave();
        served.gateway.services.sessions?.close();
        closing ??= shutDown(server, served, endpoints, drain);
        return closing;
      },
    };
  } catch (thrown) {
    server.close();
    server.closeAllConnections();
    throw thrown;
  }
}

async function open(
  config: LoadedConfig,
  { host, path, limits, clientLimits, allowedHosts, allowedOrigins }: Settings,
  bound: Bound,
): Promise<Opened> {
  const view = createView();
  const self = { id: randomUUID(), url: toUrl(host, bound.port, path) };
  const served = await serveReloadable(view, requireAuth(config, host, bound), {
    isShared: true,
    onReady: ({ services }) => services.sessions?.announce(self),
  });
  const gateway = () => served.gateway;
  const gate = createGate({ host, port: bound.port, path, allowedHosts, allowedOrigins }, gateway);
  const { authenticate } = gate;
  const { instructions } = served;
  const check = withPathCheck(gate.check, path);
  const slowBodies = createSlowBodies(limits.slowBodiesPerCaller);
  const messages = { ...limits, slowBodies, reading: { maxBytes: limits.bytesAtOnce, bytes: 0 } };
  const mcp = createEndpoint({
    view,
    limits: messages,
    clientLimits,
    instructions,
    gateway,
    check,
    authenticate,
  });
  const routes = createRoutesEndpoint({ gateway, gate, limits: messages });
  return {
    served,
    endpoints: [mcp, routes],
    isProbe: (request) => getPath(request) !== path && routes.isOpen(request),
    findEndpoint: (request) => (getPath(request) !== path && routes.takes(request) ? routes : mcp),
  };
}

function toUrl(host: string, port: number, path: string): string {
  return `http://${toUrlHost(host)}:${port}${path}`;
}

/** Refuses to serve at an address that other machines can reach without authentication. */
function requireAuth(config: LoadedConfig, host: string, { isExposed }: Bound): LoadedConfig {
  if (!isExposed) return config;
  const guard: Plugin = {
    name: "http",
    order: "post",
    setup({ services }) {
      if (!services.auth) throw exposed(host);
    },
  };
  return { ...config, plugins: [...(config.plugins ?? []), guard] };
}

/** The address that a server listens at. */
interface Bound {
  readonly port: number;
  /** Whether other machines can reach it. */
  readonly isExposed: boolean;
}

function listen(server: Server, port: number, host: string): Promise<Bound> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => {
      const why =
        (cause as { code?: unknown }).code === "EADDRINUSE" ? "is already in use" : "cannot be opened";
      reject(new GatewayError("CONFIG_INVALID", `The port ${port} of ${host} ${why}.`, { cause }));
    };
    server.once("error", fail);
    try {
      server.listen(port, host, () => {
        server.off("error", fail);
        const address = server.address();
        if (typeof address !== "object" || !address) return fail({});
        // A host name resolves to whatever the machine says it does.
        resolve({ port: address.port, isExposed: !isLoopback(address.address) });
      });
    } catch (thrown) {
      fail(thrown);
    }
  });
}

async function shutDown(
  server: Server,
  served: Reloadable,
  endpoints: readonly Endpoint[],
  options: CloseOptions | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  try {
    for (const endpoint of endpoints) endpoint.close();
    await served.close(options);
    await waitAtMost(Promise.all(endpoints.map((endpoint) => endpoint.settled())), FLUSH_MS);
  } finally {
    // Clients are left that keep a connection for later, or do not read.
    server.closeAllConnections();
  }
  await closed;
}

function tooManyConnections(): HttpRefusal {
  const message = "There are too many connections, in all or from this address. Try again in 1 s.";
  return new HttpRefusal(503, message, { reason: "OVERLOADED", headers: { "retry-after": "1" } });
}

function exposed(host: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `The gateway cannot be served on "${host}": other machines could reach it there without authentication. Make a token with "toolpipe token" and put its lines into the config, or use 127.0.0.1, ::1 or localhost.`,
  );
}

/**
 * Makes clients give up their connections, each with the next answer that it gets, once `close` was called.
 *
 * A connection that is closed while it is idle may be closed in the moment in which its client sends a request, and the
 * outcome of that is unknown to the client. One that ends with an answer is not used again.
 */
function createConnectionCloser(): { track(response: ServerResponse): void; close(): void } {
  const open = new Set<ServerResponse>();
  let isClosing = false;

  return {
    track(response) {
      if (isClosing) return end(response);
      open.add(response);
      response.once("close", () => open.delete(response));
    },
    close() {
      isClosing = true;
      for (const response of open) end(response);
      open.clear();
    },
  };

  function end(response: ServerResponse): void {
    if (!response.headersSent) response.setHeader("connection", "close");
  }
}
