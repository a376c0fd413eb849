import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  type Clock,
  createDamagedError,
  type RateLimiter,
  type SharedState,
  type StateEntry,
  type StateStore,
} from "../../core/services/state.ts";
import { sha256Hex } from "../lib/hash.ts";
import { decodeState, encodeState } from "../lib/memory-store.ts";
import { openRedisConnection, type RedisConnection } from "./redis-connection.ts";
import { createGeneration } from "./redis-generation.ts";
import { createRedisShared } from "./redis-shared.ts";

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** Prefix of every key; `toolpipe:` by default. Gateways with different prefixes can share one Redis. */
  readonly prefix?: string | undefined;
  /** Timeout of a step in milliseconds; 250 by default, so that a decision takes less than 300. */
  readonly timeoutMs?: number | undefined;
  /** Whether calls that need a key may rely on a Redis that keeps nothing on a disk; `refuse` by default. */
  readonly volatile?: "refuse" | "allow" | undefined;
  /** Folder in which the generation is kept as well; without it, a loss is noticed by this process alone. */
  readonly folder?: string | undefined;
  /** Called once when the connection is lost or refused, until it is back. */
  readonly onLost?: ((error: GatewayError) => void) | undefined;
}

/** A store in Redis. */
export interface RedisStore extends StateStore {
  readonly clock: Clock;
  readonly shared: SharedState & { readonly limiter: RateLimiter };
  /** Returns whether Redis can be reached. Rejects if it may evict keys. */
  isReachable(): Promise<boolean>;
  /** Whether Redis keeps nothing on a disk, allowed or not. */
  readonly keepsNothing: boolean;
  /** Why the last connection failed, in a word. */
  readonly failure: string | undefined;
  /** Takes note of what Redis holds now, as far as it is known. Rejects with `STATE_LOST`. */
  learn(): Promise<void>;
}

/** Length of a version: a UUID, which precedes the value. */
const VERSION = 36;
const BATCH = 500;

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
 * Keeps state in Redis, for gateways on many machines. Every change is one command or one script, which Redis runs
 * atomically. It is as safe as Redis: if a master fails before it has replicated a key, the key is lost.
 */
export function redisStore(url: string, options: RedisStoreOptions = {}): RedisStore {
  const { prefix = "toolpipe:", timeoutMs = 250, volatile = "refuse", folder, onLost } = options;
  const connection = openRedisConnection({ url, timeoutMs, onLost });
  const place = toPlace(url);
  const generation = createGeneration(connection, {
    key: `${prefix}generation`,
    file: folder && join(folder, `${sha256Hex(`${place} ${prefix}`)}.txt`),
    host: place.split("/")[0] ?? "",
  });
  const shared = createRedisShared(connection, url, prefix);
  const toRedisKey = (key: string): string => `${prefix}state:${encodeKey(key)}`;
  const toLocation = (key: string): string => `${toRedisKey(key)} in Redis`;
  const versioned = (value: JsonObject): string => randomUUID() + encodeState(value);

  return {
    shared,
    get volatile() {
      return volatile === "refuse" && connection.isVolatile;
    },
    get keepsNothing() {
      return connection.isVolatile;
    },
    get failure() {
      return connection.failure;
    },
    get generation() {
      return generation.current;
    },
    learn: generation.learn,
    checkKept: generation.check,
    acknowledge: generation.acknowledge,
    clock: { wall: connection.now, steady: connection.now, boot: "redis" },
    isReachable: () => connection.isReachable(),
    async get(key) {
      const text = await connection.run("read", (redis) => redis.get(toRedisKey(key)));
      if (text === null) return undefined;
      const entry = toEntry(key, text);
      if (!entry) throw createDamagedError(toLocation(key));
      return entry;
    },
    async setIfAbsent(key, value) {
      const text = versioned(value);
      return connection.run(
        "written",
        async (redis) => (await redis.set(toRedisKey(key), text, "NX")) === "OK",
      );
    },
    async replace(key, value, expected = "") {
      const text = versioned(value);
      return connection.run(
        "written",
        async (redis) => (await redis.eval(REPLACE, 1, toRedisKey(key), text, expected)) === 1,
      );
    },
    delete: (key, expected = "") =>
      connection.run(
        "written",
        async (redis) => (await redis.eval(DELETE, 1, toRedisKey(key), expected)) === 1,
      ),
    async list(wanted) {
      // A half surrogate pair at the end also matches the whole character.
      const texts = await scanTexts(wanted.replace(/[\ud800-\udbff]$/, ""));
      return texts
        .flatMap(([key, text]) => toEntry(key, text) ?? [])
        .filter(({ key }) => key.startsWith(wanted))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1));
    },
    async listDamaged() {
      const damaged = (await scanTexts("")).filter(([key, text]) => toEntry(key, text) === undefined);
      return damaged.map(([key]) => toLocation(key));
    },
    async close() {
      await shared.close();
      await connection.close();
    },
  };

  /** Reads all keys with this prefix, with what is stored under them. */
  async function scanTexts(start: string): Promise<[key: string, text: string][]> {
    const keys = await scanKeys(connection, `${toRedisKey(start).replace(/[\\*?[\]]/g, "\\$&")}*`);
    const found: [key: string, text: string][] = [];
    for (let from = 0; from < keys.length; from += BATCH) {
      const some = keys.slice(from, from + BATCH);
      const texts = await connection.run("read", (redis) => redis.mget(some));
      for (const [index, text] of texts.entries()) {
        const key = decodeKey((some[index] ?? "").slice(toRedisKey("").length));
        if (text !== null) found.push([key, text]);
      }
    }
    return found;
  }
}

/** Names a Redis: host, port and number of the database, without credentials. */
function toPlace(url: string): string {
  if (!URL.canParse(url)) return "its address";
  const { host, pathname } = new URL(url);
  return `${host}${pathname === "/" ? "" : pathname}`;
}

/** Scans in batches, since there may be very many keys. A key may be found more than once while others are set. */
async function scanKeys(connection: RedisConnection, pattern: string): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = "0";
  do {
    const from = cursor;
    const [next, some] = await connection.run("read", (redis) =>
      redis.scan(from, "MATCH", pattern, "COUNT", BATCH),
    );
    for (const key of some) keys.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...keys];
}

/** Encodes half surrogate pairs: UTF-8 would turn all of them into the same character, and two keys into one. */
function encodeKey(key: string): string {
  return key.replace(/%|\p{Surrogate}/gu, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function decodeKey(text: string): string {
  return text.replace(/%([0-9a-f]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Decodes an entry; undefined if it cannot be read. */
function toEntry(key: string, text: string): StateEntry | undefined {
  try {
    const value = decodeState(text.slice(VERSION));
    return isJsonObject(value) ? { key, value, version: text.slice(0, VERSION) } : undefined;
  } catch {
    return undefined;
  }
}
