import { GatewayError, type JsonObject, type ToolResult } from "../../core/mod.ts";
import type {
  Listing,
  Upstream,
  UpstreamCallOptions,
  UpstreamEvents,
  UpstreamListOptions,
  UpstreamMethod,
  UpstreamRequestOptions,
} from "../../core/services/servers.ts";
import { CONNECT_FAILED, isUnsent, UPSTREAM_ERROR } from "../../core/services/servers.ts";
import { type Backoff, backoffDelay } from "../lib/backoff.ts";
import type { createHangCheck } from "./hang-check.ts";
import { isInputRequired } from "./send-call.ts";
import { createSlots, type Waiter, waitUnlessGivenUp } from "./slots.ts";
import { createSubscriptions } from "./subscriptions.ts";

/** State of a server's connection. */
type ConnectionState = "connected" | "disconnected" | "error";

/** Options of a pooled connection. */
export interface ConnectionOptions {
  /** Opens a connection unless the signal aborts; called again after one has ended. */
  readonly connect: (events: UpstreamEvents, signal: AbortSignal) => Promise<Upstream>;
  /** Time without use after which the connection is closed. */
  readonly idleMs: number;
  /** Calls in flight at once; further ones wait for a slot. */
  readonly concurrency: number;
  /** Calls in a row that time out in silence, after which the server is asked whether it still works. */
  readonly maxSilentTimeouts: number;
  readonly onListChanged: () => void;
  readonly onResourceUpdated?: (uri: string) => void;
  readonly onState: () => void;
  /** Called when the server was ended because it no longer answered. */
  readonly onHung?: (reason: string) => void;
  /** Replaces `Math.random` in tests of the backoff. */
  readonly random?: () => number;
}

/** The connection to one server: opened on first use, shared, closed when idle, reopened after it was lost. */
export interface PooledConnection {
  readonly state: ConnectionState;
  /** Reason for the state, as a sentence. */
  readonly reason: string;
  /** The last failure, while the state is `error`. */
  readonly failure: GatewayError | undefined;
  /** Time until the next attempt is allowed, after a failure. */
  readonly retryInMs: number;
  readonly info: Upstream["info"] | undefined;
  list(options?: UpstreamListOptions): Promise<Listing>;
  call(name: string, args: JsonObject, options: UpstreamCallOptions): Promise<ToolResult>;
  request(
    method: UpstreamMethod,
    params: Readonly<JsonObject>,
    options: UpstreamRequestOptions,
  ): Promise<JsonObject>;
  /** Subscribes to these resources, over this connection and those after it; of this owner, to no others. */
  watch(uris: readonly string[]): Promise<void>;
  /** When it was last used, on the clock of `performance.now()`; undefined while it is closed or anything needs it. */
  readonly idleSince: number | undefined;
  /** Gives another owner access to the same connection, which lasts until the last of them has closed it. */
  share(options: ConnectionOptions): PooledConnection;
  /** Closes the connection if nothing uses it, and waits for its end. It is opened again when it is needed. */
  closeIdle(): Promise<void>;
  close(): Promise<void>;
}

/** Delays after failures in a row, up to a minute and a half. */
export const connectBackoff: Backoff = { initialDelayMs: 1_000, maxDelayMs: 60_000, jitter: [1, 1.5] };

const CONNECTED = "It is connected.";

/** Creates the connection to one server. Opens nothing yet. */
export function createPooledConnection(options: ConnectionOptions): PooledConnection {
  /** Those that share the connection. The last one decides how it is opened. */
  const owners: ConnectionOptions[] = [];
  const current = (): ConnectionOptions => owners.at(-1) ?? options;
  /** The resources that each owner subscribes to. */
  const watched = new Map<ConnectionOptions, readonly string[]>();
  const life = new AbortController();
  let upstream: Upstream | undefined;
  let opening: Promise<Upstream> | undefined;
  /** The end of the previous connection. */
  let ending: Promise<void> | undefined;
  let state: ConnectionState = "disconnected";
  let reason = "It has not been used yet.";
  let failures = 0;
  let retryAt = 0;
  let lastFailure: GatewayError | undefined;
  let hasWorked = false;
  let hangCheck: Promise<ReturnType<typeof createHangCheck>> | undefined;
  let usedAt = 0;
  /** Until then a question of the server may be answered, for which it keeps what it was doing. */
  let questionUntil = 0;
  const onceEnded: (() => void)[] = [];
  const subscriptions = createSubscriptions({
    connect: async () => upstream ?? connect(),
    retryDelayMs: () => Math.max(connectBackoff.initialDelayMs, retryInMs()),
    onMissed: onResourceUpdated,
  });
  const slots = createSlots({
    count: () => current().concurrency,
    idleMs: () => current().idleMs,
    isOpen: () => upstream !== undefined && !life.signal.aborted,
    isNeeded: () => subscriptions.isNeeded,
    onIdle: () => drop("It was not used for a while; it is opened again when it is needed."),
  });

  return join(options);

  /** Gives one owner its access to the connection. */
  function join(own: ConnectionOptions): PooledConnection {
    owners.push(own);
    let hasLeft = false;
    const useOwn: typeof use = (work, waiter) =>
      hasLeft ? Promise.reject(closedError()) : use(work, waiter);
    return {
      get state() {
        return state;
      },
      get reason() {
        return reason;
      },
      get failure() {
        return state === "error" ? lastFailure : undefined;
      },
      get retryInMs() {
        return retryInMs();
      },
      get info() {
        return upstream?.info;
      },
      get idleSince() {
        const isIdle = upstream !== undefined && slots.isFree() && !subscriptions.isNeeded;
        return isIdle && questionUntil < performance.now() ? usedAt : undefined;
      },
      list: (listOptions) => useOwn((open) => open.list(listOptions)),
      call: (name, args, callOptions) => useOwn((open) => open.call(name, args, callOptions), callOptions),
      request: (method, params, given) =>
        useOwn((open) => {
          if (open.request) return open.request(method, params, given);
          throw new GatewayError(UPSTREAM_ERROR, "The server has nothing but tools.");
        }, given),
      async watch(uris) {
        if (hasLeft) throw closedError();
        watched.set(own, uris);
        await subscribe();
      },
      share: join,
      async closeIdle() {
        if (!slots.isFree() || subscriptions.isNeeded || questionUntil > performance.now()) return;
        drop("It was closed to leave room for others; it is opened again when it is needed.");
        await ending;
      },
      async close() {
        if (!hasLeft) owners.splice(owners.indexOf(own), 1);
        hasLeft = true;
        if (owners.length > 0) {
          if (watched.delete(own)) await subscribe().catch(() => {});
          return;
        }
        subscriptions.end();
        life.abort(closedError());
        await opening?.catch(() => {});
        drop("The gateway has closed it.");
        await ending;
      },
    };
  }

  async function subscribe(): Promise<void> {
    const wanted = (): string[] => [...new Set([...watched.values()].flat())];
    if (wanted().length === 0 && !upstream) return subscriptions.set([]);
    await use((open) => {
      // Set only now: a connection that opens applies the subscriptions by itself.
      subscriptions.set(wanted());
      return subscriptions.apply(open);
    });
  }

  function onListChanged(): void {
    for (const owner of [...owners]) owner.onListChanged();
  }

  function onResourceUpdated(uri: string): void {
    for (const owner of [...owners]) owner.onResourceUpdated?.(uri);
  }

  /** With an open connection and a free slot, which is the common case, nothing is awaited but the work itself. */
  function use<T>(work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    return upstream && slots.tryTake() ? run(upstream, work, waiter) : runInTurn(work, waiter);
  }

  async function runInTurn<T>(work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    await slots.take(waiter);
    const open = upstream ?? (await waitFor(connect(), waiter).catch(releaseAndThrow));
    return run(open, work, waiter);
  }

  /** Waits for a connection. It has a time limit of its own: that of the caller does not count meanwhile. */
  function waitFor(connecting: Promise<Upstream>, waiter: Waiter | undefined): Promise<Upstream> {
    const onceOver = waiter?.onConnecting?.();
    return waitUnlessGivenUp(connecting, waiter).finally(onceOver);
  }

  function run<T>(open: Upstream, work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    const sentAt = performance.now();
    // Reading the lists is no use of the server.
    if (waiter) usedAt = sentAt;
    return send(open, work, waiter).then(releaseAndReturn, (thrown) => {
      if (GatewayError.is(thrown) && thrown.code === "TIMEOUT") void checkForHang(open, sentAt);
      if (!isUnsent(thrown)) releaseAndThrow(thrown);
      waiter?.onSent?.(false);
      return waitFor(reopen(open), waiter)
        .then((next) => send(next, work, waiter))
        .then(releaseAndReturn, releaseAndThrow);
    });
  }

  function send<T>(
    open: Upstream,
    work: (open: Upstream) => Promise<T>,
    waiter: Waiter | undefined,
  ): Promise<T> {
    waiter?.onSent?.(true);
    try {
      return work(open);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  function releaseAndReturn<T>(result: T): T {
    hasWorked = true;
    failures = 0;
    if (isInputRequired(result ?? {})) questionUntil = performance.now() + current().idleMs;
    slots.release();
    return result;
  }

  function releaseAndThrow(thrown: unknown): never {
    slots.release();
    throw thrown;
  }

  /** Loads the check with the first call that times out: few servers hang. */
  async function checkForHang(open: Upstream, sentAt: number): Promise<void> {
    const endedAt = performance.now();
    hangCheck ??= import("./hang-check.ts").then(({ createHangCheck }) =>
      createHangCheck({
        maxSilentTimeouts: () => current().maxSilentTimeouts,
        isOpen: (asked) => asked === upstream,
        setReason(why = CONNECTED) {
          reason = why;
        },
        onHung: replace,
      }),
    );
    (await hangCheck)(open, { sentAt, endedAt });
  }

  /** Ends a server that hangs, with what is still asked of it. The next call starts it again. */
  function replace(why: string): void {
    end();
    if (hasWorked) setState("disconnected", `${why} It is opened again when it is needed.`);
    else fail(new GatewayError(CONNECT_FAILED, why));
    current().onHung?.(why);
    subscriptions.lost();
  }

  function retryInMs(): number {
    return Math.max(0, Math.ceil(retryAt - performance.now()));
  }

  /** Opens the next connection once `ended` is known to be over: a write may fail before the close is reported. */
  async function reopen(ended: Upstream): Promise<Upstream> {
    if (upstream === ended) await new Promise<void>((resolve) => onceEnded.push(resolve));
    return upstream ?? connect();
  }

  function connect(): Promise<Upstream> {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  async function open(): Promise<Upstream> {
    // Two processes of one server may get in each other's way.
    await ending;
    if (life.signal.aborted) throw closedError();
    const retryAfterMs = retryInMs();
    if (retryAfterMs > 0 && lastFailure) {
      const { kind, message } = lastFailure;
      const when = `It is tried again in ${Math.ceil(retryAfterMs / 1000)} s.`;
      throw new GatewayError(kind, `${message} ${when}`, { data: { retryAfterMs } });
    }
    let own: Upstream | undefined;
    let closeReason: string | undefined;
    const events: UpstreamEvents = {
      onListChanged,
      onResourceUpdated,
      onClosed(why) {
        closeReason = why;
        if (own && upstream === own) onClosed(why);
      },
    };
    try {
      own = await current().connect(events, life.signal);
    } catch (thrown) {
      if (life.signal.aborted) throw closedError();
      throw fail(GatewayError.is(thrown) ? thrown : unreachable(thrown));
    }
    if (life.signal.aborted) {
      await own.close();
      throw closedError();
    }
    upstream = own;
    hasWorked = false;
    usedAt = performance.now();
    setState("connected", CONNECTED);
    if (subscriptions.isNeeded) void subscriptions.apply(own).catch(() => {});
    // The caller that it was opened for may have given up meanwhile.
    slots.rest();
    if (closeReason !== undefined) onClosed(closeReason);
    return own;
  }

  function onClosed(why: string): void {
    // Parts of it may be left, such as processes that the server has started.
    end();
    // A server that worked may have been killed, and is started again at once; one that never did would loop.
    if (hasWorked) setState("disconnected", `${toSentence(why)} It is opened again when it is needed.`);
    else fail(new GatewayError(CONNECT_FAILED, `The server ended right after it had started: ${why}.`));
    subscriptions.lost();
  }

  function fail(error: GatewayError): GatewayError {
    retryAt = performance.now() + backoffDelay(failures, connectBackoff, options.random);
    failures++;
    lastFailure = error;
    setState("error", error.message);
    return error;
  }

  function drop(why: string): void {
    const wasOpen = upstream !== undefined;
    if (wasOpen) end();
    slots.stop();
    if (wasOpen) setState("disconnected", why);
  }

  function end(): void {
    slots.stop();
    ending = upstream?.close();
    upstream = undefined;
    for (const resolve of onceEnded.splice(0)) resolve();
  }

  function setState(next: ConnectionState, why: string): void {
    state = next;
    reason = why;
    for (const owner of [...owners]) owner.onState();
  }
}

function closedError(): GatewayError {
  return new GatewayError("CLOSED", "The gateway is closing.");
}

function unreachable(cause: unknown): GatewayError {
  return new GatewayError(CONNECT_FAILED, "The server could not be reached.", { cause });
}

/** Turns a clause that completes "because" into a sentence. */
function toSentence(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}
