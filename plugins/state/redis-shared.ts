import type { Redis } from "ioredis";
import type { RateLimiter, SharedState } from "../../core/services/state.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Dependencies of the shared state. */
export interface RedisSharedParts {
  readonly connection: RedisConnection;
  readonly url: string;
  readonly prefix: string;
  readonly limiter: RateLimiter;
}

interface Subscription {
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  readonly onReconnect: (() => void) | undefined;
}

const PUT_NEWEST = `
if tonumber(redis.call("GET", KEYS[2]) or "0") > tonumber(ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[3])
redis.call("SET", KEYS[2], ARGV[2], "PX", ARGV[3])
return 1`;

/** Shares state in Redis. Subscriptions need a connection of their own, which is opened by the first one. */
export function redisShared({
  connection,
  url,
  prefix,
  limiter,
}: RedisSharedParts): SharedState & { close(): Promise<void> } {
  const subscriptions = new Set<Subscription>();
  let opening: Promise<Redis> | undefined;

  return {
    address: url,
    limiter,
    async publish(topic, message) {
      await connection.run("written", (redis) => redis.publish(`${prefix}${topic}`, message));
    },
    subscribe(topic, onMessage, onReconnect) {
      const subscription = { channel: `${prefix}${topic}`, onMessage, onReconnect };
      subscriptions.add(subscription);
      // ioredis queues the command until it is connected, and repeats it after every reconnect.
      void open()
        .then((redis) => redis.subscribe(subscription.channel))
        .catch(() => {});
      return () => void subscriptions.delete(subscription);
    },
    put: (name, text, ttlMs, at) =>
      connection.run("written", async (redis) => {
        const key = `${prefix}${name}`;
        const ms = Math.ceil(ttlMs);
        if (at === undefined) return (await redis.set(key, text, "PX", ms)) === "OK";
        return (await redis.eval(PUT_NEWEST, 2, key, `${key}:at`, text, at, ms)) === 1;
      }),
    get: (name) =>
      connection.run("read", async (redis) => (await redis.get(`${prefix}${name}`)) ?? undefined),
    async close() {
      subscriptions.clear();
      (await opening?.catch(() => undefined))?.disconnect();
    },
  };

  function open(): Promise<Redis> {
    opening ??= import("ioredis").then((module) => {
      const redis = new module.Redis(url, {
        connectTimeout: 2_000,
        maxRetriesPerRequest: null,
        retryStrategy: (times) => Math.min(50 * 2 ** times, 1_000),
      });
      redis.on("error", () => {});
      redis.on("message", (channel, message) => {
        for (const each of subscriptions) if (each.channel === channel) each.onMessage(message);
      });
      let isFirst = true;
      redis.on("ready", () => {
        if (!isFirst) for (const { onReconnect } of subscriptions) onReconnect?.();
        isFirst = false;
      });
      return redis;
    });
    return opening;
  }
}
