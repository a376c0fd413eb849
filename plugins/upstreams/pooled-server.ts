import { GatewayError, type MaybePromise } from "../../core/mod.ts";
import {
  CONNECT_FAILED,
  type Held,
  NEEDS_APPROVAL,
  NEEDS_AUTH,
  type ServerStatus,
  UPSTREAM_STALLED,
  type Upstream,
  type UpstreamEvents,
} from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { backoffDelay } from "../lib/backoff.ts";
import { hashServer } from "../lib/hash.ts";
import {
  type ConnectionOptions,
  connectBackoff,
  createPooledConnection,
  type PooledConnection,
} from "./connection.ts";
import { createPublishedListing, type ListingOptions, type PublishedListing } from "./listing.ts";
import { type CachedListing, recallFailure } from "./snapshot.ts";

/** One attempt to connect to a server of the pool. */
export interface PooledAttempt {
  readonly events: UpstreamEvents;
  readonly prior: unknown;
  readonly signal: AbortSignal;
  /** Whether the server is only listed, and closed again where too many are open. */
  readonly isVisit: boolean;
}

/** The connection and the listing of the same server in the pool that this one replaces. */
export interface SharedServer {
  readonly connection: PooledConnection;
  readonly listing: CachedListing | undefined;
  readonly fingerprint: string;
}

interface PooledServerOptions extends ListingOptions {
  readonly idleMs: number;
  readonly concurrency: number;
  readonly maxSilentTimeouts: number;
  /** Gives the reason not to connect to a server of a project. */
  readonly check?: (config: ServerConfig) => MaybePromise<Held | undefined>;
  /** Opens a connection to the server. */
  readonly connect: (config: ServerConfig, options: PooledAttempt) => Promise<Upstream>;
  /** Runs work that may start a process once fewer than the allowed number run. */
  readonly enqueue: (work: () => Promise<void>, priority: number) => Promise<void>;
  /** Whether more connections are open than may stay open. */
  readonly isCrowded?: () => boolean;
  /** Called when the connection was opened or has ended. */
  readonly onOpen?: (server: string, isOpen: boolean, isVisit: boolean) => void;
  readonly onResourceUpdated?: ((server: string, uri: string) => void) | undefined;
}

/** A server of the pool: its connection, its listing, and the retries of both. */
export interface PooledServer {
  readonly config: ServerConfig;
  /** Reason why the server must not be connected. */
  readonly held: Held | undefined;
  readonly connection: PooledConnection;
  readonly listing: PublishedListing;
  /** Settles once no discovery is in progress. */
  settled(): Promise<void>;
  status(): ServerStatus;
  /** Publishes the listing of the snapshot, if it is of this definition. */
  restore(cached: CachedListing | undefined): Promise<void>;
  /** Reads the server's lists, in turn with other servers. Failures are in the status, and are retried if that may help. */
  discover(limitMs?: number): Promise<void>;
  /** Reads the server's lists at once, for a call that waits for them. */
  read(): Promise<void>;
  /** Publishes a listing that was read over another connection to this server. */
  update(listed: Pick<CachedListing, "listing" | "info" | "prior">): Promise<void>;
  /** Publishes a listing that another gateway has read, if it is newer. */
  adopt(listed: unknown): Promise<void>;
  /** Allows a server to connect that needed approval, and discovers it. */
  release(): Promise<void>;
  close(): Promise<void>;
}

/** Pause between two discoveries of a server that announces changes. */
const MIN_PAUSE_MS = 1_000;

/** Creates a server of the pool. Connects to nothing yet. */
export function createPooledServer(
  config: ServerConfig,
  heldAtFirst: Held | undefined,
  options: PooledServerOptions,
  shared?: SharedServer,
): PooledServer {
  const { name } = config;
  let held = heldAtFirst;
  let closed = false;
  /** Result of the last handshake. */
  let prior: unknown;
  /** The discovery in progress, from the moment that it waits for its turn. */
  let discovering: Promise<void> | undefined;
  let reading: Promise<void> | undefined;
  /** The failure of the last discovery, and the number of failures in a row. */
  let failure: GatewayError | undefined;
  let failures = 0;
  /** Limit of the start and of the listing, while a discovery has one. */
  let limit: number | undefined;
  /** Message of the failure that was reported last, until the server works again. */
  let reported: string | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  const listing = createPublishedListing(config, options);
  let isVisiting = false;
  const connectionOptions: ConnectionOptions = {
    idleMs: options.idleMs,
    concurrency: options.concurrency,
    maxSilentTimeouts: options.maxSilentTimeouts,
    connect: async (events, signal) => {
      // A local file that an approved definition names may have changed since the start.
      if (config.origin.scope === "project") held ??= await options.check?.(config);
      if (held) throw heldError(name, held);
      const attempt = { events, prior, signal, isVisit: isVisiting };
      const upstream = await options.connect(limitStart(config, limit), attempt);
      prior = upstream.prior;
      return upstream;
    },
    onListChanged: () => discoverLater((listing.known?.savedAt ?? 0) + MIN_PAUSE_MS - Date.now()),
    onResourceUpdated: (uri) => options.onResourceUpdated?.(name, uri),
    onState: () => {
      options.onOpen?.(name, connection.state === "connected", isVisiting);
      // A listing of an earlier connection need not hold for this one.
      if (connection.state === "connected") void discover();
      else if (connection.failure) reportFailure(connection.failure);
    },
    onHung(reason) {
      const message = `The server "${name}" hangs. ${reason}`;
      options.gateway.report(new GatewayError(UPSTREAM_STALLED, message, { data: { server: name } }));
    },
  };
  const connection = shared
    ? shared.connection.share(connectionOptions)
    : createPooledConnection(connectionOptions);
  if (shared) options.onOpen?.(name, connection.state === "connected", false);

  return {
    config,
    get held() {
      return held;
    },
    connection,
    listing,
    async settled() {
      await Promise.all([discovering, reading]);
    },
    status,
    async restore(cached) {
      const latest = (shared?.listing?.savedAt ?? 0) > (cached?.savedAt ?? 0) ? shared?.listing : cached;
      const own = latest?.hash === hashServer(config) && !held ? latest : undefined;
      prior = own?.prior;
      failure = own?.failure && recallFailure(own.failure);
      await listing.restore(own).catch(refuse);
      if (own) options.onOffer?.(name);
    },
    discover,
    read,
    update: (listed) => listing.update(listed),
    async adopt(listed) {
      if (held || closed) return;
      try {
        // Where clocks cannot tell, the server can.
        if (!(await listing.adopt(listed, prior))) discoverLater(MIN_PAUSE_MS);
      } catch (thrown) {
        fail(thrown);
      }
    },
    async release() {
      if (held?.status !== "needs-approval" || closed) return;
      held = undefined;
      await discover();
    },
    close() {
      closed = true;
      clearTimeout(retryTimer);
      return connection.close();
    },
  };

  function discover(limitMs?: number): Promise<void> {
    limit = limitMs;
    // A connected server starts no process, so it need not wait for its turn.
    const start = (): Promise<void> =>
      connection.state === "connected" ? read() : options.enqueue(readAndRest, -failures);
    discovering ??= start().finally(() => {
      discovering = undefined;
    });
    return discovering;
  }

  function discoverLater(ms: number): void {
    clearTimeout(retryTimer);
    if (closed) return;
    retryTimer = setTimeout(async () => {
      // The lists that are being read now may be older than the announced change.
      await reading;
      await discovering;
      await discover();
    }, ms);
    retryTimer.unref?.();
  }

  /** Closes the connection again where too many would stay open, so that a thousand servers are no thousand processes. */
  async function readAndRest(): Promise<void> {
    isVisiting = true;
    await read().finally(() => {
      isVisiting = false;
    });
    // The next one starts its process once this one has ended.
    if (options.isCrowded?.()) await connection.closeIdle();
  }

  function read(): Promise<void> {
    reading ??= readLists().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readLists(): Promise<void> {
    if (closed) return;
    clearTimeout(retryTimer);
    try {
      const signal = limit === undefined ? {} : { signal: AbortSignal.timeout(limit) };
      await listing.update({ listing: await connection.list(signal), info: connection.info, prior });
      failure = undefined;
      reported = undefined;
      failures = 0;
    } catch (thrown) {
      if (!closed) fail(thrown);
    }
  }

  function fail(thrown: unknown): void {
    const error = GatewayError.from(thrown, `The server "${name}" could not be listed.`);
    reportFailure(error);
    failure = error;
    // A timer may fire a little early.
    const delay = Math.max(connection.retryInMs + 10, backoffDelay(failures, connectBackoff));
    failures++;
    if (error.kind.retry) discoverLater(delay);
  }

  /** Reports a failure to connect once, not with every retry. */
  function reportFailure(error: GatewayError): void {
    // The failure of a retry that comes too early only adds when the next one is.
    if (reported !== undefined && error.message.startsWith(reported)) return;
    reported = error.message;
    listing.keepFailure({ code: error.code, message: error.message, at: Date.now() });
    const message = error.message.includes(`server "${name}"`)
      ? error.message
      : `The server "${name}": ${error.message}`;
    const data = { ...error.data, server: name, event: "connection-failed" };
    options.gateway.report(new GatewayError(error.kind, message, { cause: error.cause, data }));
  }

  /** Holds a server back whose name the gateway itself needs; the other servers are not affected. */
  function refuse(thrown: unknown): void {
    fail(thrown);
    if (failure?.code === "CONFIG_INVALID") held = { status: "error", reason: failure.message };
  }

  function status(): ServerStatus {
    const { known, rejected } = listing;
    return {
      name,
      ...(held ?? connectionStatus(connection, connection.failure ?? failure)),
      failure: (connection.failure ?? failure)?.kind,
      config,
      info: connection.info ?? known?.info,
      listing: known && { ...known.listing, rejected: [...known.listing.rejected, ...rejected] },
      listedAt: known?.savedAt,
    };
  }
}

function limitStart(config: ServerConfig, limitMs: number | undefined): ServerConfig {
  if (limitMs === undefined) return config;
  return { ...config, startTimeoutMs: Math.min(config.startTimeoutMs ?? limitMs, limitMs) };
}

function connectionStatus(
  { state, reason }: Pick<PooledConnection, "state" | "reason">,
  failure: GatewayError | undefined,
): Held {
  if (!failure) return { status: state, reason };
  return { status: failure.code === NEEDS_AUTH.code ? "needs-auth" : "error", reason: failure.message };
}

function heldError(server: string, { status, reason }: Held): GatewayError {
  const kind = status === "needs-approval" ? NEEDS_APPROVAL : CONNECT_FAILED;
  return new GatewayError(kind, `The server "${server}" is not connected: ${reason}`);
}
