import type { Redis } from "ioredis";
import type { RateLimiter, SharedState } from "../../core/services/state.ts";
import { redisRetryDelay } from "../lib/backoff.ts";
import { toVerdict } from "../lib/rate.ts";
import type { RedisConnection } from "./redis-connection.ts";

const PUT_NEWEST = `
if tonumber(redis.call("GET", KEYS[2]) or "0") > tonumber(ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[3])
redis.call("SET", KEYS[2], ARGV[2], "PX", ARGV[3])
return 1`;

/** Shares state in Redis. Subscriptions need a connection of their own, which the first one opens. */
export function createRedisShared(
  connection: RedisConnection,
  url: string,
  prefix: string,
): SharedState & { readonly limiter: RateLimiter; close(): Promise<void> } {
  const subscriptions = new Set<{
    readonly channel: string;
    readonly onMessage: (message: string) => void;
    readonly onReconnect: (() => void) | undefined;
  }>();
  let opening: Promise<Redis> | undefined;

  return {
    address: url,
    limiter: createRedisLimiter(connection, `${prefix}rate:`),
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
        retryStrategy: redisRetryDelay,
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

/** Does what `arrive` in plugins/lib/rate.ts does, for all buckets in one step and by the clock of Redis. */
const TAKE = `
local clock = redis.call("TIME")
local now = tonumber(ARGV[2]) or (clock[1] * 1000 + clock[2] / 1000)
local waits, untils, full = {}, {}, false
for i, key in ipairs(KEYS) do
  local each, whole = tonumber(ARGV[1 + 2 * i]), tonumber(ARGV[2 + 2 * i])
  local taken = tonumber(redis.call("GET", key) or "")
  local from = now
  if taken and taken > now and taken <= now + whole + 1 then from = taken end
  untils[i] = from + each * ARGV[1]
  local wait = untils[i] - now - whole
  if wait < 0.001 then wait = 0 else full = true end
  waits[i] = tostring(wait)
end
if full then return waits end
for i, key in ipairs(KEYS) do
  redis.call("SET", key, string.format("%.6f", untils[i]), "PX", math.ceil(math.max(untils[i] - now, 1)) + 60000)
end
return waits`;

/** Counts rates in Redis. */
export function createRedisLimiter(
  connection: RedisConnection,
  prefix: string,
  now?: () => number,
): RateLimiter {
  return {
    async take(buckets, cost = 1) {
      if (buckets.length === 0) return toVerdict([]);
      const keys = buckets.map(({ name }) => prefix + name);
      const sizes = buckets.flatMap(({ limit, perMs, burst = limit }) => {
        const each = perMs / limit;
        return [each, each * burst];
      });
      const waits = (await connection.run("written", (redis) =>
        redis.eval(TAKE, keys.length, ...keys, cost, now ? String(now()) : "", ...sizes),
      )) as string[];
      return toVerdict(buckets.map((bucket, index) => ({ bucket, waitMs: Number(waits[index]) })));
    },
  };
}
