import { createServer, type Server } from "node:http";
import { GatewayError, type LoadedConfig } from "../../core/mod.ts";
import { createEndpoint, type Endpoint } from "./_http-endpoint.ts";
import { checkOf, inUrl, isLoopback } from "./_http-request.ts";
import { createFront } from "./front.ts";
import type { HttpLimits, HttpOptions, HttpServer } from "./http.ts";
import { type Reloadable, serveReloadable } from "./reloadable.ts";
import { createRest, type RestEndpoint } from "./rest.ts";

/** How long the last answers may take to leave, once all calls are over. */
const FLUSH_MS = 2_000;
const IDLE_MS = 60_000;

/** Opens the port, and then the gateway: a port that is taken is noticed before any server is started. */
export async function startHttp(
  config: LoadedConfig,
  { port, host, path, limits, asking }: Required<HttpOptions> & { readonly limits: HttpLimits },
): Promise<HttpServer> {
  if (!isLoopback(host)) throw exposed(host);
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: Math.max(limits.requestMs, limits.headersMs),
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    keepAliveTimeout: IDLE_MS,
  });
  server.maxConnections = limits.connections;

  const listening = listen(server, port, host);
  const opened = listening.then(open);
  server.on("request", (request, response) => {
    opened.then(
      ({ endpoint, rest }) => (rest.takes(request) ? rest : endpoint).handle(request, response),
      () => response.destroy(),
    );
  });
  try {
    const { served, endpoint, rest } = await opened;
    // A connection that could not be accepted is no reason to end.
    server.on("error", (error) => served.gateway.report(GatewayError.from(error)));
    let closing: Promise<void> | undefined;
    return {
      url: `http://${inUrl(host)}:${await listening}${path}`,
      get gateway() {
        return served.gateway;
      },
      reload: served.reload,
      close(drain) {
        closing ??= shutDown(server, served, [endpoint, rest], drain);
        return closing;
      },
    };
  } catch (thrown) {
    server.close();
    server.closeAllConnections();
    throw thrown;
  }

  async function open(
    bound: number,
  ): Promise<{ served: Reloadable; endpoint: Endpoint; rest: RestEndpoint }> {
    const front = createFront({ isShared: true });
    const served = await serveReloadable(front, config);
    const endpoint = createEndpoint({
      front,
      limits,
      asking,
      instructions: served.instructions,
      gateway: () => served.gateway,
      check: checkOf({ host, port: bound, path }),
    });
    const rest = createRest({ gateway: () => served.gateway, place: { host, port: bound }, limits });
    return { served, endpoint, rest };
  }
}

function listen(server: Server, port: number, host: string): Promise<number> {
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
        // A name leads where the machine says it leads.
        if (typeof address === "object" && address && isLoopback(address.address)) resolve(address.port);
        else reject(exposed(host));
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
    `The gateway cannot be served on "${host}": others could reach it there, and it cannot tell who they are yet. Use 127.0.0.1, ::1 or localhost.`,
  );
}
