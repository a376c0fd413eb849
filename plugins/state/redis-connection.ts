import { once } from "node:events";
import type { Redis } from "ioredis";
import { GatewayError } from "../../core/mod.ts";
import { STATE_UNAVAILABLE } from "../../core/services/state.ts";
import { codeOf } from "../lib/files.ts";

/** A connection to Redis that never lets anybody wait for long. */
export interface RedisConnection {
  /** The time by the clock of Redis, as far as it is known: that of this machine before the first answer. */
  now(): number;
  /** Does something, or fails with `STATE_UNAVAILABLE` in time. What failed may have been done all the same. */
  run<T>(what: "read" | "written", work: (redis: Redis) => Promise<T>): Promise<T>;
  /** Whether Redis is there; rejects where it is, and may throw something away. */
  isThere(): Promise<boolean>;
  close(): Promise<void>;
}

/** How a connection is made. */
export interface RedisConnectionOptions {
  readonly url: string;
  /** A decision takes no longer than this. */
  readonly timeoutMs: number;
}

/** Once it was not there, others do not wait for it as well, for this long. */
const DOWN_MS = 250;
/** How long a first connection may take. */
const FIRST_MS = 2_000;
/** After this long it is looked at again: clocks drift, and settings can be changed while it runs. */
const EXAMINE_MS = 600_000;

/** Opens the connection when it is first needed, and again whenever it was lost. */
export function openRedisConnection({ url, timeoutMs }: RedisConnectionOptions): RedisConnection {
  const place = shown(url);
  let opening: Promise<Redis> | undefined;
  let connecting: Promise<unknown> | undefined;
  let downUntil = 0;
  let fitUntil = 0;
  let ahead: number | undefined;

  return {
    now: () => (ahead === undefined ? Date.now() : performance.now() + ahead),
    async run(what, work) {
      try {
        // One limit for all of it: a call waits for the sum.
        return await within(
          ready().then(async (redis) => {
            if (performance.now() >= fitUntil) await examine(redis);
            return work(redis);
          }),
        );
      } catch (cause) {
        if (GatewayError.is(cause)) throw cause;
        throw new GatewayError(
          STATE_UNAVAILABLE,
          `The state in Redis at ${place} cannot be ${what} (${reasonOf(cause)}).`,
          {
            cause,
          },
        );
      }
    },
    async isThere() {
      try {
        // Whoever asks this has only just begun, and waits rather than goes without.
        await within(open().then(begun).then(examine), undefined, FIRST_MS);
        return true;
      } catch (thrown) {
        if (GatewayError.is(thrown)) throw thrown;
        return false;
      }
    },
    async close() {
      const redis = await opening?.catch(() => undefined);
      redis?.disconnect();
    },
  };

  function open(): Promise<Redis> {
    opening ??= import("ioredis").catch(missing).then(({ Redis }) => {
      const redis = new Redis(url, {
        lazyConnect: true,
        // Its own ways with a Redis that is not there are to keep commands and wait: nobody would be answered.
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        connectTimeout: FIRST_MS,
        retryStrategy: (times) => Math.min(50 * 2 ** times, 1_000),
        // A replica takes no writes; the next connection may find the new master.
        reconnectOnError: (error) => error.message.startsWith("READONLY"),
      });
      // What it reports here, whoever needs it is told by `run`.
      redis.on("error", () => {});
      redis.on("ready", () => {
        downUntil = 0;
        fitUntil = 0;
      });
      redis.connect().catch(() => {});
      return redis;
    });
    return opening;
  }

  async function begun(redis: Redis): Promise<Redis> {
    if (redis.status !== "ready") await once(redis, "ready");
    return redis;
  }

  async function ready(): Promise<Redis> {
    const redis = await open();
    if (redis.status === "ready") return redis;
    if (Date.now() < downUntil) throw new Error("not connected");
    connecting ??= within(once(redis, "ready"), "not connected")
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

  /** A Redis that may throw a key away would let a call be made twice. */
  async function examine(redis: Redis): Promise<void> {
    const asked = performance.now();
    const [memory, [seconds, micros]] = await Promise.all([redis.info("memory"), redis.time()]);
    const answered = performance.now();
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1];
    if (policy !== undefined && policy !== "noeviction") {
      throw new GatewayError(
        STATE_UNAVAILABLE,
        `Redis at ${place} may throw state away when it is full (maxmemory-policy ${policy}). Set it to noeviction.`,
      );
    }
    ahead = Number(seconds) * 1000 + Number(micros) / 1000 - (asked + answered) / 2;
    fitUntil = answered + EXAMINE_MS;
  }

  async function within<T>(work: Promise<T>, otherwise = "no answer in time", ms = timeoutMs): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(otherwise)), ms);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** It is not installed with us: few need it. */
function missing(cause: unknown): never {
  const message =
    "The state cannot be kept in Redis without the package ioredis. Install it: npm install ioredis";
  throw new GatewayError("CONFIG_INVALID", message, { cause });
}

/** Where it is, without who we are there. */
function shown(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "its address";
}

/** One word of what went wrong: errors of Redis begin with one. */
function reasonOf(cause: unknown): string {
  const code = codeOf(cause);
  if (code !== undefined) return code;
  const message = cause instanceof Error ? cause.message : "";
  if (/^(Connection is closed|Stream isn't writeable)/.test(message)) return "not connected";
  return (
    /^[A-Z]{3,}\b/.exec(message)?.[0] ??
    (/^(not connected|no answer in time)$/.exec(message)?.[0] || "it failed")
  );
}
