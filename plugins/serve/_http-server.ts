import { createServer, type IncomingMessage, type Server } from "node:http";
import { GatewayError, type LoadedConfig, type Plugin } from "../../core/mod.ts";
import type {} from "../health.ts";
import { createSessionHomes, type SessionHomes } from "../replicas/session-homes.ts";
import { createFarewell } from "./_farewell.ts";
import { answerPages } from "./_http-cors.ts";
import { createEndpoint, type Endpoint } from "./_http-endpoint.ts";
import { createGate } from "./_http-gate.ts";
import { inUrl, isLoopback, pathCheck, pathOf } from "./_http-request.ts";
import { createRouting } from "./_http-routing.ts";
import { createFront } from "./front.ts";
import type { HttpLimits, HttpOptions, HttpServer } from "./http.ts";
import { type Reloadable, serveReloadable } from "./reloadable.ts";
import { createRest } from "./rest.ts";

/** How long the last answers may take to leave, once all calls are over. */
const FLUSH_MS = 2_000;

type Settings = Required<HttpOptions> & { readonly limits: HttpLimits };

/** What is served at one port. */
interface Opened {
  readonly served: Reloadable;
  readonly homes: SessionHomes;
  readonly endpoints: readonly Endpoint[];
  /** What a request is for. */
  readonly endpointOf: (request: IncomingMessage) => Endpoint;
}

/** Opens the port, and then the gateway: a port that is taken is noticed before any server is started. */
export async function startHttp(config: LoadedConfig, settings: Settings): Promise<HttpServer> {
  const { port, host, path, limits, allowedOrigins } = settings;
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: Math.max(limits.requestMs, limits.headersMs),
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    keepAliveTimeout: limits.idleMs,
  });
  server.maxConnections = limits.connections;

  const listening = listen(server, port, host);
  const opened = listening.then((bound) => open(config, settings, bound));
  const farewell = createFarewell();
  server.on("request", (request, response) => {
    farewell.meet(response);
    opened.then(
      ({ endpointOf }) => {
        if (!answerPages(request, response, allowedOrigins)) endpointOf(request).handle(request, response);
      },
      () => response.destroy(),
    );
  });
  try {
    const { served, endpoints, homes } = await opened;
    // A connection that could not be accepted is no reason to end.
    server.on("error", (error) => served.gateway.report(GatewayError.from(error)));
    let closing: Promise<void> | undefined;
    const leave = (): number => {
      farewell.begin();
      return served.gateway.services.readiness?.leave() ?? 0;
    };
    return {
      leave,
      url: `http://${inUrl(host)}:${(await listening).port}${path}`,
      get gateway() {
        return served.gateway;
      },
      reload: async (next) => served.reload(guarded(next, host, await listening)),
      close(drain) {
        leave();
        homes.close();
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
  { host, path, limits, asking, allowedHosts, allowedOrigins }: Settings,
  bound: Bound,
): Promise<Opened> {
  const front = createFront({ isShared: true });
  const served = await serveReloadable(front, guarded(config, host, bound));
  const gateway = () => served.gateway;
  const gate = createGate({ host, port: bound.port, path, allowedHosts, allowedOrigins }, gateway);
  const { actorOf } = gate;
  const { instructions } = served;
  const check = pathCheck(gate.check, path);
  const homes = createSessionHomes({
    url: `http://${inUrl(host)}:${bound.port}${path}`,
    replicas: () => served.gateway.services.replicas,
  });
  const messages = { ...limits, reading: { maxBytes: limits.bytesAtOnce, bytes: 0 } };
  const mcp = createEndpoint({
    front,
    limits: messages,
    asking,
    instructions,
    gateway,
    check,
    actorOf,
    homes,
  });
  const rest = createRest({ gateway, gate, limits: messages });
  const routing = createRouting(gateway, gate);
  return {
    served,
    homes,
    endpoints: [mcp, rest, routing],
    endpointOf(request) {
      if (pathOf(request) === path) return mcp;
      return [rest, routing].find((one) => one.takes(request)) ?? mcp;
    },
  };
}

/** The same config, which nobody can be served by whom others could reach without saying who they are. */
function guarded(config: LoadedConfig, host: string, { isExposed }: Bound): LoadedConfig {
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

/** Where a server listens. */
interface Bound {
  readonly port: number;
  /** Whether others than this machine can reach it. */
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
        // A name leads where the machine says it leads.
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
  options: { readonly drainMs?: number } | undefined,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  try {
    for (const endpoint of endpoints) endpoint.close();
    await served.close(options);
    await within(FLUSH_MS, Promise.all(endpoints.map((endpoint) => endpoint.settled())));
  } finally {
    // What is left are clients that keep a connection for later, or do not read.
    server.closeAllConnections();
  }
  await closed;
}

function within(ms: number, work: Promise<unknown>): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function exposed(host: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `The gateway cannot be served on "${host}": others could reach it there, and nobody has to say who they are. Make a token with "toolpipe token" and put its lines into the config, or use 127.0.0.1, ::1 or localhost.`,
  );
}
