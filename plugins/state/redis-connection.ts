import { once } from "node:events";
import type { Redis } from "ioredis";
import { GatewayError } from "../../core/mod.ts";
import { STATE_UNAVAILABLE } from "../../core/services/state.ts";
import { redisRetryDelay } from "../lib/backoff.ts";
import { getErrorCode } from "../lib/files.ts";

/** A connection to Redis whose commands fail fast. */
export interface RedisConnection {
  /** Returns the time by the clock of Redis; by that of this machine before the first answer. */
  now(): number;
  /** Runs commands, or fails with `STATE_UNAVAILABLE` in time. Commands that failed may still have had their effect. */
  run<T>(what: "read" | "written", work: (redis: Redis) => Promise<T>): Promise<T>;
  /** Returns whether Redis can be reached. Rejects if it may evict keys. */
  isReachable(): Promise<boolean>;
  /** Whether Redis keeps nothing on a disk; false before the first answer. */
  readonly isVolatile: boolean;
  /** Why the last connection failed, in a word. */
  readonly failure: string | undefined;
  close(): Promise<void>;
}

interface RedisConnectionOptions {
  readonly url: string;
  /** Limit of each {@link RedisConnection.run}. */
  readonly timeoutMs: number;
  /** Called once when the connection is lost or refused, until it is back. */
  readonly onLost?: ((error: GatewayError) => void) | undefined;
}

/** Time after a failed connection in which further commands fail at once. */
const DOWN_MS = 250;
/** Timeout of the first connection. */
const CONNECT_MS = 2_000;
/** Time between two checks of the clock and the settings: clocks drift, and settings change while Redis runs. */
const EXAMINE_MS = 600_000;

/** Creates a connection that opens on first use, and reopens after it was lost. */
export function openRedisConnection({ url, timeoutMs, onLost }: RedisConnectionOptions): RedisConnection {
  // Without the credentials.
  const host = URL.canParse(url) ? new URL(url).host : "its address";
  let opening: Promise<Redis> | undefined;
  let connecting: Promise<unknown> | undefined;
  let downUntil = 0;
  let fitUntil = 0;
  let ahead: number | undefined;
  let isVolatile = false;
  let failure: string | undefined;
  let wasReady = false;
  let isClosing = false;
  /** Troubles that were reported since the connection was ready. */
  const told = new Set<string>();

  return {
    get isVolatile() {
      return isVolatile;
    },
    get failure() {
      return failure;
    },
    now: () => (ahead === undefined ? Date.now() : performance.now() + ahead),
    async run(what, work) {
      try {
        // One timeout for all steps: a call waits for the sum.
        return await withTimeout(
          ready().then(async (redis) => {
            if (performance.now() >= fitUntil) await examine(redis);
            return work(redis);
          }),
        );
      } catch (cause) {
        if (GatewayError.is(cause)) throw cause;
        throw new GatewayError(
          STATE_UNAVAILABLE,
          `The state in Redis at ${host} cannot be ${what} (${toReason(cause)}).`,
          {
            cause,
          },
        );
      }
    },
    async isReachable() {
      try {
        // Asked at the start, which can wait longer than a call.
        await withTimeout(open().then(waitUntilReady).then(examine), undefined, CONNECT_MS);
        return true;
      } catch (thrown) {
        if (GatewayError.is(thrown)) throw thrown;
        return false;
      }
    },
    async close() {
      isClosing = true;
      const redis = await opening?.catch(() => undefined);
      redis?.disconnect();
    },
  };

  function open(): Promise<Redis> {
    opening ??= import("ioredis").catch(missing).then(({ Redis }) => {
      const redis = new Redis(url, {
        lazyConnect: true,
        // By default commands are queued while Redis is down, and their callers wait.
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        connectTimeout: CONNECT_MS,
        retryStrategy: redisRetryDelay,
        // A replica takes no writes; the next connection may find the new master.
        reconnectOnError: (error) => error.message.startsWith("READONLY"),
      });
      // Each command reports its own failure.
      redis.on("error", (error) => {
        failure = toReason(error);
        if (REFUSED.test(failure)) tellOnce("refused");
      });
      redis.on("close", () => tellOnce("lost"));
      redis.on("ready", () => {
        wasReady = true;
        failure = undefined;
        told.clear();
        downUntil = 0;
        fitUntil = 0;
      });
      redis.connect().catch(() => {});
      return redis;
    });
    return opening;
  }

  /** A first connection that fails is told by the start, unless Redis refuses it later. */
  function tellOnce(what: "lost" | "refused"): void {
    if (isClosing || !wasReady || told.has(what)) return;
    told.add(what);
    const why = failure === undefined ? "" : ` (${failure})`;
    const message = `The connection to Redis at ${host} was ${what}${why}. Calls that need stored state fail until it is back.`;
    onLost?.(new GatewayError(STATE_UNAVAILABLE, message));
  }

  async function waitUntilReady(redis: Redis): Promise<Redis> {
    if (redis.status !== "ready") await once(redis, "ready");
    return redis;
  }

  async function ready(): Promise<Redis> {
    const redis = await open();
    if (redis.status === "ready") return redis;
    if (Date.now() < downUntil) throw new Error("not connected");
    connecting ??= withTimeout(once(redis, "ready"), "not connected")
      .catch((thrown) => {
        downUntil = Date.now() + DOWN_MS;
        throw thrown;
      })
      .finally(() => {
        connecting = undefined;
      });
    await connecting;
    return redis;
  }

  /** Checks that Redis evicts no keys, since a call could then be made twice, and reads its clock. */
  async function examine(redis: Redis): Promise<void> {
    const asked = performance.now();
    const [memory, [seconds, micros], keeps] = await Promise.all([
      redis.info("memory"),
      redis.time(),
      keepsOnDisk(redis),
    ]);
    const answered = performance.now();
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1];
    if (policy !== undefined && policy !== "noeviction") {
      throw new GatewayError(
        STATE_UNAVAILABLE,
        `Redis at ${host} may evict state when it is full (maxmemory-policy ${policy}). Set maxmemory-policy to noeviction.`,
      );
    }
    ahead = Number(seconds) * 1000 + Number(micros) / 1000 - (asked + answered) / 2;
    isVolatile = !keeps;
    fitUntil = answered + EXAMINE_MS;
  }

  async function withTimeout<T>(work: Promise<T>, message = "no answer in time", ms = timeoutMs): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(message)), ms);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Answers of a Redis that takes no commands from here. */
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM)$/;

/** Whether Redis writes to a disk, as a log or in snapshots. One that does not say so counts as one that does not. */
async function keepsOnDisk(redis: Redis): Promise<boolean> {
  if (/aof_enabled:1/.test(await redis.info("persistence"))) return true;
  const [, save] = (await redis.config("GET", "save").catch(() => [])) as readonly unknown[];
  return typeof save === "string" && save !== "";
}

/** ioredis is an optional dependency: few users need it. */
function missing(cause: unknown): never {
  const message =
    "The state cannot be kept in Redis without the package ioredis. Install it: npm install ioredis";
  throw new GatewayError("CONFIG_INVALID", message, { cause });
}

/** Returns the reason of a failure in a word: errors of Redis begin with one. */
function toReason(cause: unknown): string {
  const code = getErrorCode(cause);
  if (code !== undefined) return code;
  const message = cause instanceof Error ? cause.message : "";
  if (/^(Connection is closed|Stream isn't writeable)/.test(message)) return "not connected";
  return (
    /^[A-Z]{3,}\b/.exec(message)?.[0] ??
    (/^(not connected|no answer in time)$/.exec(message)?.[0] || "it failed")
  );
}
