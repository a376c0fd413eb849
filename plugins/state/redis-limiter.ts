import { type RateLimiter, verdictOf } from "../lib/rate.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** The same as `arrive` in plugins/lib/rate.ts, for all buckets in one step and by the clock of Redis. */
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

/** Counts in Redis. */
export function redisLimiter(connection: RedisConnection, prefix: string, now?: () => number): RateLimiter {
  return {
    async take(buckets, cost = 1) {
      if (buckets.length === 0) return verdictOf([]);
      const keys = buckets.map(({ name }) => prefix + name);
      const sizes = buckets.flatMap(({ limit, perMs, burst = limit }) => {
        const each = perMs / limit;
        return [each, each * burst];
      });
      const waits = (await connection.run("written", (redis) =>
        redis.eval(TAKE, keys.length, ...keys, cost, now ? String(now()) : "", ...sizes),
      )) as string[];
      return verdictOf(buckets.map((bucket, index) => ({ bucket, waitMs: Number(waits[index]) })));
    },
  };
}
