import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { SharedState, StateEntry, StateStore } from "../../core/services/state.ts";
import type { Clock } from "../lib/clock.ts";
import { decodeState, encodeState } from "../lib/memory-store.ts";
import type { RateLimiter } from "../lib/rate.ts";
import { openRedisConnection, type RedisConnection } from "./redis-connection.ts";
import { redisLimiter } from "./redis-limiter.ts";
import { redisShared } from "./redis-shared.ts";

/** How state is kept in Redis. */
export interface RedisStoreOptions {
  /** Before every key; `toolpipe:` by default, so that several gateways can share one Redis. */
  readonly prefix?: string | undefined;
  /** Nothing waits longer for Redis than this; 250 by default, so that a decision is there within 300. */
  readonly timeoutMs?: number | undefined;
}

/** A store in Redis. */
export interface RedisStore extends StateStore {
  readonly clock: Clock;
  readonly shared: SharedState & { readonly limiter: RateLimiter };
  /** Whether Redis is there; rejects where it is, and may throw keys away. */
  isThere(): Promise<boolean>;
}

/** A version is a UUID, and stands before the value. */
const VERSION = 36;
const AT_ONCE = 500;

const REPLACE = `
local kept = redis.call("GET", KEYS[1])
if ARGV[2] ~= "" and (not kept or string.sub(kept, 1, ${VERSION}) ~= ARGV[2]) then return 0 end
redis.call("SET", KEYS[1], ARGV[1])
return 1`;

const DELETE = `
local kept = redis.call("GET", KEYS[1])
if not kept or (ARGV[1] ~= "" and string.sub(kept, 1, ${VERSION}) ~= ARGV[1]) then return 0 end
return redis.call("DEL", KEYS[1])`;

/**
 * Keeps state in Redis, for gateways on many machines. Every change is one command or one script, which Redis runs by
 * itself. It is as safe as that Redis is: where a master fails before its replica has heard of a key, the key is lost.
 */
export function redisStore(url: string, options: RedisStoreOptions = {}): RedisStore {
  const { prefix = "toolpipe:", timeoutMs = 250 } = options;
  const connection = openRedisConnection({ url, timeoutMs });
  const limiter = redisLimiter(connection, `${prefix}rate:`);
  const shared = redisShared({ connection, url, prefix, limiter });
  const placeOf = (key: string): string => `${prefix}state:${encodeKey(key)}`;
  const versioned = (value: JsonObject): string => randomUUID() + encodeState(value);

  return {
    shared: { ...shared, limiter },
    clock: { wall: connection.now, steady: connection.now, boot: "redis" },
    isThere: () => connection.isThere(),
    get: (key) => connection.run("read", async (redis) => entryOf(key, await redis.get(placeOf(key)))),
    async setIfAbsent(key, value) {
      const text = versioned(value);
      return connection.run("written", async (redis) => (await redis.set(placeOf(key), text, "NX")) === "OK");
    },
    async replace(key, value, expected = "") {
      const text = versioned(value);
      return connection.run(
        "written",
        async (redis) => (await redis.eval(REPLACE, 1, placeOf(key), text, expected)) === 1,
      );
    },
    delete: (key, expected = "") =>
      connection.run("written", async (redis) => (await redis.eval(DELETE, 1, placeOf(key), expected)) === 1),
    async list(wanted) {
      // Half of a character at its end is found as the beginning of a whole one.
      const whole = wanted.replace(/[\ud800-\udbff]$/, "");
      const places = await found(connection, `${placeOf(whole).replace(/[\\*?[\]]/g, "\\$&")}*`);
      const entries: StateEntry[] = [];
      for (let start = 0; start < places.length; start += AT_ONCE) {
        const some = places.slice(start, start + AT_ONCE);
        const texts = await connection.run("read", (redis) => redis.mget(some));
        for (const [index, text] of texts.entries()) {
          const entry = entryOf(decodeKey((some[index] ?? "").slice(placeOf("").length)), text);
          if (entry?.key.startsWith(wanted)) entries.push(entry);
        }
      }
      return entries.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    },
    async close() {
      await shared.close();
      await connection.close();
    },
  };
}

/** Step by step, since there may be very many. The same key may be found more than once while others are set. */
async function found(connection: RedisConnection, pattern: string): Promise<string[]> {
  const places = new Set<string>();
  let cursor = "0";
  do {
    const from = cursor;
    const [next, some] = await connection.run("read", (redis) =>
      redis.scan(from, "MATCH", pattern, "COUNT", AT_ONCE),
    );
    for (const place of some) places.add(place);
    cursor = next;
  } while (cursor !== "0");
  return [...places];
}

/** Halves of characters would all become the same sign on their way, and two keys one. */
function encodeKey(key: string): string {
  return key.replace(/%|\p{Surrogate}/gu, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function decodeKey(text: string): string {
  return text.replace(/%([0-9a-f]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

function entryOf(key: string, text: string | null): StateEntry | undefined {
  if (text === null) return undefined;
  try {
    const value = decodeState(text.slice(VERSION));
    return isJsonObject(value) ? { key, value, version: text.slice(0, VERSION) } : undefined;
  } catch {
    // Somebody else wrote it.
    return undefined;
  }
}
