import { GatewayError, type JsonObject, type ToolResult } from "../../core/mod.ts";
import { createIdle } from "./_idle.ts";
import { isUnsent } from "./_mcp-errors.ts";
import { createTurns, untilGivenUp, type Waiter } from "./_turns.ts";
import { createWatching } from "./_watching.ts";
import { CONNECT_FAILED, UPSTREAM_ERROR } from "./errors.ts";
import type {
  Listing,
  Upstream,
  UpstreamCallOptions,
  UpstreamEvents,
  UpstreamMethod,
  UpstreamRequestOptions,
} from "./upstream.ts";

/** How a server's connection stands. */
export type LinkState = "connected" | "disconnected" | "error";

/** What a link is given. */
export interface LinkOptions {
  /** Opens a connection, unless the signal ends the attempt; called again when one has ended. */
  readonly connect: (events: UpstreamEvents, signal: AbortSignal) => Promise<Upstream>;
  /** A connection nobody uses is closed after this long. */
  readonly idleMs: number;
  /** Calls at once; more wait for their turn. */
  readonly concurrency: number;
  readonly onListChanged: () => void;
  readonly onResourceUpdated?: (uri: string) => void;
  readonly onState: () => void;
  /** For tests of the waiting times. */
  readonly random?: () => number;
}

/** The connection to one server: opened on first use, shared, closed when idle, opened again when it broke. */
export interface Link {
  readonly state: LinkState;
  /** Why it is in that state, in a sentence. */
  readonly reason: string;
  /** What it failed with, while it is in the state `error`. */
  readonly failure: GatewayError | undefined;
  /** How long it is before it may be tried again, after it failed. */
  readonly retryInMs: number;
  readonly info: Upstream["info"] | undefined;
  list(options?: { readonly signal?: AbortSignal }): Promise<Listing>;
  call(name: string, args: JsonObject, options: UpstreamCallOptions): Promise<ToolResult>;
  request(
    method: UpstreamMethod,
    params: Readonly<JsonObject>,
    options: UpstreamRequestOptions,
  ): Promise<JsonObject>;
  /** Wants to hear of changes of these resources, over this connection and those after it. */
  watch(uris: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** How long to wait after so many failures in a row, from a second to a minute and a half. */
export function waitAfter(failures: number, random: () => number = Math.random): number {
  // Up to half as long again, so that servers that fell together are not started together.
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (1.5 - random() / 2);
}

/** Makes the link to one server. Nothing is opened yet. */
export function createLink(options: LinkOptions): Link {
  const { idleMs, concurrency, random = Math.random } = options;
  const turns = createTurns(concurrency);
  const life = new AbortController();
  let upstream: Upstream | undefined;
  let opening: Promise<Upstream> | undefined;
  /** The end of the connection before. */
  let ending: Promise<void> | undefined;
  let state: LinkState = "disconnected";
  let reason = "It has not been used yet.";
  let failures = 0;
  let notBefore = 0;
  let lastFailure: GatewayError | undefined;
  let proven = false;
  /** Those who wait for the connection to be over. */
  const bereft: (() => void)[] = [];
  const watching = createWatching({
    connect: async () => upstream ?? connect(),
    waitMs: () => Math.max(FIRST_WAIT_MS, retryInMs()),
    onMissed: (uri) => options.onResourceUpdated?.(uri),
  });

  const idle = createIdle({
    idleMs,
    isOpen: () => upstream !== undefined && !life.signal.aborted,
    isUsed: () => turns.taken > 0 || watching.isNeeded,
    onIdle: () => drop("It was not used for a while; it is opened again when it is needed."),
  });

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
    list: (listOptions) => use((open) => open.list(listOptions)),
    call: (name, args, callOptions) => use((open) => open.call(name, args, callOptions), callOptions),
    request: (method, params, given) =>
      use((open) => {
        if (open.request) return open.request(method, params, given);
        throw new GatewayError(UPSTREAM_ERROR, "The server has nothing but tools.");
      }, given),
    async watch(uris) {
      if (uris.length === 0 && !upstream) return watching.want(uris);
      await use((open) => {
        // Only now: a connection that is opened watches what is wanted by itself.
        watching.want(uris);
        return watching.use(open);
      });
    },
    async close() {
      watching.end();
      life.abort(closing());
      await opening?.catch(() => {});
      drop("The gateway has closed it.");
      await ending;
    },
  };

  /** Where it is open and a turn is free, which is most of the time, nothing is waited for but the work itself. */
  function use<T>(work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    return upstream && turns.tryTake() ? start(upstream, work, waiter) : useInTurn(work, waiter);
  }

  async function useInTurn<T>(work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    await turns.take(waiter);
    const open = upstream ?? (await untilGivenUp(connect(), waiter).catch(failed));
    return start(open, work, waiter);
  }

  function start<T>(open: Upstream, work: (open: Upstream) => Promise<T>, waiter?: Waiter): Promise<T> {
    let working: Promise<T>;
    try {
      working = work(open);
    } catch (thrown) {
      working = Promise.reject(thrown);
    }
    return working.then(worked, (thrown) =>
      isUnsent(thrown)
        ? untilGivenUp(successor(open), waiter).then(work).then(worked, failed)
        : failed(thrown),
    );
  }

  function worked<T>(result: T): T {
    proven = true;
    failures = 0;
    leave();
    return result;
  }

  function failed(thrown: unknown): never {
    leave();
    throw thrown;
  }

  function leave(): void {
    turns.give();
    if (turns.taken === 0) idle.rest();
  }

  function retryInMs(): number {
    return Math.max(0, Math.ceil(notBefore - performance.now()));
  }

  /** The connection after one that has ended, perhaps before anybody here knew. */
  async function successor(ended: Upstream): Promise<Upstream> {
    if (upstream === ended) await new Promise<void>((resolve) => bereft.push(resolve));
    return upstream ?? connect();
  }

  function connect(): Promise<Upstream> {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    return opening;
  }

  async function open(): Promise<Upstream> {
    // Two processes of one server may stand in each other's way.
    await ending;
    if (life.signal.aborted) throw closing();
    const wait = retryInMs();
    if (wait > 0 && lastFailure) {
      const { kind, message } = lastFailure;
      throw new GatewayError(kind, `${message} It is tried again in ${Math.ceil(wait / 1000)} s.`, {
        data: { retryAfterMs: wait },
      });
    }
    let own: Upstream | undefined;
    let endedBecause: string | undefined;
    const events: UpstreamEvents = {
      onListChanged: () => options.onListChanged(),
      onResourceUpdated: (uri) => options.onResourceUpdated?.(uri),
      onClosed(why) {
        endedBecause = why;
        if (own && upstream === own) onClosed(why);
      },
    };
    try {
      own = await options.connect(events, life.signal);
    } catch (thrown) {
      if (life.signal.aborted) throw closing();
      throw fail(
        GatewayError.is(thrown)
          ? thrown
          : new GatewayError(CONNECT_FAILED, "The server could not be reached.", { cause: thrown }),
      );
    }
    if (life.signal.aborted) {
      await own.close();
      throw closing();
    }
    upstream = own;
    proven = false;
    setState("connected", "It is connected.");
    if (watching.isNeeded) void watching.use(own).catch(() => {});
    // Whoever it was opened for may have given up meanwhile.
    idle.rest();
    if (endedBecause !== undefined) onClosed(endedBecause);
    return own;
  }

  function onClosed(why: string): void {
    idle.stop();
    // Something may be left of it: what a process has started, say.
    ending = upstream?.close();
    upstream = undefined;
    release();
    // One that worked may have been killed and is started again at once; one that never did is a loop.
    if (proven) setState("disconnected", `${sentence(why)} It is opened again when it is needed.`);
    else fail(new GatewayError(CONNECT_FAILED, `The server ended right after it had started: ${why}.`));
    watching.lost();
  }

  function fail(error: GatewayError): GatewayError {
    notBefore = performance.now() + waitAfter(failures, random);
    failures++;
    lastFailure = error;
    setState("error", error.message);
    return error;
  }

  function drop(why: string): void {
    idle.stop();
    if (!upstream) return;
    ending = upstream.close();
    upstream = undefined;
    release();
    setState("disconnected", why);
  }

  function release(): void {
    for (const resolve of bereft.splice(0)) resolve();
  }

  function setState(next: LinkState, why: string): void {
    state = next;
    reason = why;
    options.onState();
  }
}

function closing(): GatewayError {
  return new GatewayError("CLOSED", "The gateway is closing.");
}

/** What completes "because", as a sentence of its own. */
function sentence(why: string): string {
  return `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
}
