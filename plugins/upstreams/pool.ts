import type PQueue from "p-queue";
import { type Gateway, GatewayError, type JsonObject, type MaybePromise } from "../../core/mod.ts";
import { offerLogging } from "../../core/services/clients.ts";
import {
  CONNECT_FAILED,
  type Held,
  type RequestTurns,
  type ServerEvents,
  type ServerHandle,
  type ServerOpenOptions,
  type Servers,
  type Upstream,
  type UpstreamEvents,
} from "../../core/services/servers.ts";
import { type ServerConfig, toServerKey } from "../../core/services/sources.ts";
import { hashServer } from "../lib/hash.ts";
import type { ConnectServerOptions } from "./connect-server.ts";
import type { PooledConnection } from "./connection.ts";
import {
  createPooledServer,
  type PooledAttempt,
  type PooledServer,
  type SharedServer,
} from "./pooled-server.ts";
import { createRequestTool } from "./request-tools.ts";
import type { CachedListing, CatalogSnapshot } from "./snapshot.ts";

/** Dependencies of the server pool. */
export interface PoolOptions {
  readonly gateway: Gateway;
  readonly snapshot: CatalogSnapshot | undefined;
  readonly idleMs: number;
  readonly concurrency: number;
  readonly maxSilentTimeouts: number;
  /** Connections that stay open. */
  readonly maxOpen: number;
  /** The pool that this one replaces. */
  readonly previous?: Servers | undefined;
  /** Describes all that a connection is made of, with the files and variables that its definition names. */
  readonly fingerprint?: (config: ServerConfig) => Promise<string>;
  /** Servers that are asked for their lists at once. */
  readonly maxParallel: number;
  /** Age up to which a listing is fresh. */
  readonly freshMs: number;
  /** Opens a connection to a server. */
  readonly connect: (config: ServerConfig, options: ConnectServerOptions) => Promise<Upstream>;
  /** Returns why a server must not be connected, if so. */
  readonly check: (config: ServerConfig) => MaybePromise<Held | undefined>;
}

/** The servers that a discovery asks: one, those never listed, those whose listing is old, or all. */
type DiscoverySelection = { readonly name: string } | "missing" | "stale" | "all";

/** The server registry and connection pool: every server with its connection and its listing. */
export interface ServerPool extends Servers {
  /** Adds the servers of the sources and publishes their listings of the snapshot. Connects to none. */
  start(configs: readonly ServerConfig[]): Promise<void>;
  /** Reads the lists of servers. Failures are in their status, and are retried if that may help. */
  discover(which: DiscoverySelection): Promise<void>;
  /** Reads the lists of a server that a call waits for, ahead of other servers. A failure is in its status. */
  list(server: string): Promise<void>;
  connection(server: string): PooledConnection | undefined;
  /** Shares the open connection of the server of this definition with the pool that replaces this one. */
  share(config: ServerConfig): Promise<SharedServer | undefined>;
  close(): Promise<void>;
}

/** Time between two looks for connections that are no longer in use, while there are more than may stay open. */
const TRIM_MS = 250;
/** Time between two checks for old listings: lists are used far more often than they get old. */
const STALE_CHECK_MS = 1_000;

/** Creates an empty pool. */
export function createPool(options: PoolOptions): ServerPool {
  const { gateway, snapshot } = options;
  const servers = new Map<string, PooledServer>();
  const listeners: ServerEvents[] = [];
  /** The servers that are connected, and the number of those that are being connected for a call. */
  const open = new Set<string>();
  let opening = 0;
  let trimTimer: ReturnType<typeof setTimeout> | undefined;
  /** The fingerprints of connections as they were opened. */
  const fingerprints = new Map<string, string>();
  let queue: Promise<PQueue> | undefined;
  let closed = false;
  let checkedAt = 0;
  // A pool of another plugin cannot share its connections.
  const former =
    options.previous && "share" in options.previous ? (options.previous as ServerPool) : undefined;

  const serverOptions = {
    ...options,
    enqueue,
    isCrowded: () => open.size > options.maxOpen,
    onOpen(server: string, isOpen: boolean, isVisit: boolean) {
      if (isOpen) open.add(server);
      else open.delete(server);
      // A visit ends by itself, at the cost of no other server.
      if (isOpen && !isVisit) trimLater();
    },
    async connect(config: ServerConfig, { isVisit, ...attempt }: PooledAttempt) {
      const connect = async (): Promise<Upstream> => {
        const fingerprint = await options.fingerprint?.(config).catch(() => undefined);
        fingerprints.delete(config.name);
        if (fingerprint !== undefined) fingerprints.set(config.name, fingerprint);
        return options.connect(config, { ...attempt, capabilities: clientCapabilities(gateway) });
      };
      if (isVisit) return connect();
      opening++;
      try {
        await trim(open.size + opening - options.maxOpen);
        return await connect();
      } finally {
        opening--;
      }
    },
    onOffer(server: string) {
      if (servers.get(server)?.status().info?.capabilities?.["logging"]) offerLogging(gateway);
      for (const listener of listeners) listener.offer?.(server);
    },
    onListed(server: string, { prior: _prior, ...listed }: CachedListing) {
      for (const listener of listeners) listener.listed?.(server, listed as unknown as JsonObject);
    },
    onResourceUpdated(server: string, uri: string) {
      for (const listener of listeners) listener.resourceUpdated?.(server, uri);
    },
  };

  const settledAll = async (): Promise<void> => {
    await Promise.all([...servers.values()].map((server) => server.settled()));
  };
  const discover = async (which: DiscoverySelection, limitMs?: number): Promise<void> => {
    const selected = [...servers.values()].filter((server) => isSelected(server, which, options.freshMs));
    await Promise.all(selected.map((server) => server.discover(limitMs)));
  };

  return {
    async start(configs) {
      const held = await Promise.all(configs.map((config) => options.check(config)));
      const shared = await Promise.all(
        configs.map((config, index) => (held[index] ? undefined : former?.share(config))),
      );
      for (const [index, config] of configs.entries()) {
        const own = shared[index];
        if (own) fingerprints.set(config.name, own.fingerprint);
        servers.set(config.name, createPooledServer(config, held[index], serverOptions, own));
      }
      const cached = await snapshot?.load();
      for (const server of servers.values()) await server.restore(cached?.get(toServerKey(server.config)));
    },
    discover,
    async list(name) {
      const server = servers.get(name);
      if (server && !server.held) await server.read();
    },
    connection: (name) => servers.get(name)?.connection,
    async share(config) {
      const server = findServer(config);
      const fingerprint = fingerprints.get(config.name);
      if (server?.connection.state !== "connected" || fingerprint === undefined) return undefined;
      const isSame = fingerprint === (await options.fingerprint?.(config).catch(() => undefined));
      if (!isSame || closed || server.connection.state !== "connected") return undefined;
      return { connection: server.connection, listing: server.listing.known, fingerprint };
    },
    status: (name) => servers.get(name)?.status(),
    statuses: () => [...servers.values()].map((server) => server.status()),
    refresh: (name, { limitMs } = {}) => discover(name === undefined ? "all" : { name }, limitMs),
    refreshStale() {
      const now = performance.now();
      if (now - checkedAt < STALE_CHECK_MS) return;
      checkedAt = now;
      for (const server of servers.values()) {
        // Those that failed are retried by themselves.
        const { known } = server.listing;
        const isDue = known !== undefined && !known.failure && !isFresh(known, options.freshMs);
        if (isDue && !server.held && server.connection.retryInMs === 0) void server.discover();
      }
    },
    async settled(name) {
      if (name === undefined) return settledAll();
      await servers.get(name)?.listing.publishing?.catch(() => {});
    },
    async recheck(name) {
      const server = servers.get(name);
      if (server && !(await options.check(server.config))) await server.release();
    },
    async add(config) {
      const known = servers.get(config.name);
      if (known && hashServer(known.config) === hashServer(config)) return known.discover();
      if (known)
        throw new GatewayError("CONFIG_INVALID", `There is another server "${config.name}" already.`);
      const server = createPooledServer(config, await options.check(config), serverOptions);
      servers.set(config.name, server);
      await server.restore(undefined);
      if (!server.held) await server.discover();
    },
    async adopt(name, listing) {
      await servers.get(name)?.adopt(listing);
    },
    async watch(name, uris) {
      const server = servers.get(name);
      if (!server) throw new GatewayError(CONNECT_FAILED, `There is no server "${name}".`);
      await server.connection.watch(uris);
    },
    open: openHandle,
    requestTool: createRequestTool,
    on: (events) => void listeners.push(events),
    async close() {
      closed = true;
      clearTimeout(trimTimer);
      await Promise.all([...servers.values()].map((server) => server.close()));
      await settledAll();
      await snapshot?.flush();
    },
  };

  /** Closes connections beyond the limit, and those that are in use once they no longer are. */
  async function trim(surplus: number): Promise<void> {
    if (surplus <= 0) return;
    await closeLeastUsed(
      [...open].map((name) => servers.get(name)?.connection),
      surplus,
    );
  }

  function trimLater(): void {
    if (trimTimer || open.size <= options.maxOpen) return;
    trimTimer = setTimeout(async () => {
      await trim(open.size - options.maxOpen);
      trimTimer = undefined;
      if (!closed) trimLater();
    }, TRIM_MS);
    trimTimer.unref?.();
  }

  /** A few at a time: each may start a process. A server that failed waits behind those that did not. */
  async function enqueue(work: () => Promise<void>, priority: number): Promise<void> {
    queue ??= import("p-queue").then(({ default: Queue }) => new Queue({ concurrency: options.maxParallel }));
    await (await queue).add(work, { priority });
  }

  async function openHandle(
    config: ServerConfig,
    openOptions: ServerOpenOptions = {},
  ): Promise<ServerHandle> {
    const { signal = new AbortController().signal, ...changes } = openOptions;
    const server = findServer(config);
    const isOpen = server?.connection.state === "connected";
    if (server && isOpen && changes.headers === undefined) return toHandle(server.connection, changes.turns);
    const events: UpstreamEvents = {};
    const attempt = { ...changes, events, prior: undefined, signal, capabilities: {} };
    const upstream = await options.connect(config, attempt);
    // Another user may be offered other tools: a listing with the caller's headers is not the gateway's.
    if (!server || changes.headers !== undefined) return upstream;
    return {
      ...upstream,
      async list(listOptions) {
        const listing = await upstream.list(listOptions);
        const { info, prior } = upstream;
        if (!closed) await server.update({ listing, info, prior }).catch(() => {});
        return listing;
      },
    };
  }

  /** Finds the server of the pool that a definition is of, down to the file that it was read from. */
  function findServer(config: ServerConfig): PooledServer | undefined {
    const server = servers.get(config.name);
    const isSame =
      server !== undefined &&
      !server.held &&
      toServerKey(server.config) === toServerKey(config) &&
      hashServer(server.config) === hashServer(config);
    return isSame ? server : undefined;
  }
}

function isSelected(server: PooledServer, which: DiscoverySelection, freshMs: number): boolean {
  if (server.held) return false;
  if (which === "all") return true;
  if (which === "missing") return server.listing.known === undefined;
  if (which === "stale")
    return !isFresh(server.listing.known, freshMs) || server.listing.known?.failure !== undefined;
  return server.config.name === which.name;
}

function isFresh(listing: CachedListing | undefined, freshMs: number): boolean {
  const age = listing ? Date.now() - listing.savedAt : Number.POSITIVE_INFINITY;
  // A negative age means that one of two clocks was wrong.
  return age >= 0 && age < freshMs;
}

/**
 * Capabilities that a server of the legacy protocol is told of when it is connected. They are those that the gateway
 * can pass on: which ones the client of a call has is known only then, and a request that the client cannot answer is
 * refused with a reason. Servers keep roots for as long as the connection lasts, so clients that share one get none:
 * the folders of one client are not those of another.
 */
function clientCapabilities({ services }: Gateway): JsonObject {
  if (!services.clients) return {};
  const shared = { elicitation: { form: {}, url: {} }, sampling: {} };
  return services.clients.isShared ? shared : { ...shared, roots: {} };
}

/** A handle on the pooled connection, which outlives it. */
function toHandle(connection: PooledConnection, turns: RequestTurns | undefined): ServerHandle {
  return {
    info: connection.info ?? {},
    isShared: true,
    list: (options) => connection.list({ ...options, turns }),
    async call(name, args, options = {}) {
      await turns?.take();
      return connection.call(name, args, options);
    },
    close: async () => {},
  };
}

/** Closes the connections that were not used for longest, as far as nothing needs them: `count` of them, or fewer. */
async function closeLeastUsed(
  connections: readonly (PooledConnection | undefined)[],
  count: number,
): Promise<void> {
  const idle = connections.flatMap((connection) => {
    const since = connection?.idleSince;
    return connection && since !== undefined ? [{ connection, since }] : [];
  });
  const least = idle.sort((a, b) => a.since - b.since).slice(0, count);
  await Promise.all(least.map(({ connection }) => connection.closeIdle()));
}
