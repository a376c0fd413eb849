import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Cache, CacheStorage } from "../../core/services/cache.ts";
import { packBytes, unpackBytes } from "./bytes.ts";

/** Dependencies of a cache. */
export interface CacheParts {
  /** Storage beyond this process; in memory only without one. */
  readonly storage?: CacheStorage | undefined;
  /** How long lists of servers and tools are fresh; an hour by default. */
  readonly ttlMs?: number;
  /** Called once if the storage does not work. */
  readonly onTrouble: (cause: unknown) => void;
  /** The clock, for tests. */
  readonly now?: () => number;
}

interface Entry {
  readonly value: unknown;
  readonly expires: number;
}

/** Format of stored values; another one was written by another version and is not read. */
const FORMAT = "toolpipe-cache-1";
/** Prefix of our keys: a storage may be shared with other programs. */
const PREFIX = "toolpipe-";
const NEWLINE = 10;
const HOUR_MS = 3_600_000;
/** A hundred years in seconds: a longer time means for ever. */
const MAX_TTL = 3_155_760_000;

/** Creates a cache. */
export function createCache({ storage, ttlMs = HOUR_MS, onTrouble, now = Date.now }: CacheParts): Cache {
  const memory = new LRUCache<string, Entry>({ max: 1_000 });
  let troubled = false;

  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (cause) {
      if (!troubled) onTrouble(cause);
      troubled = true;
    }
  };
  const expiryOf = (ttlMs: number): number => Math.min(now() + ttlMs, Number.MAX_SAFE_INTEGER);
  const fresh = (entry: Entry | undefined): Entry | undefined =>
    entry && entry.expires > now() ? entry : undefined;

  return {
    ttlMs,
    async get(key, { stored = false } = {}) {
      const own = fresh(memory.get(key));
      // Another process may have stored a newer value.
      const entry = stored || !own ? ((await attempt(() => read(key))) ?? own) : own;
      if (entry) memory.set(key, entry);
      else memory.delete(key);
      return entry?.value;
    },
    async set(key, value, forMs) {
      const entry = { value, expires: expiryOf(forMs) };
      memory.set(key, entry);
      await attempt(async () => storage?.setItemRaw(toName(key), pack(key, entry), ttlOption(forMs)));
    },
    async getBytes(key) {
      const kept = await attempt(async () => {
        const raw = await readRaw(key);
        const found = raw === undefined ? undefined : unpackBytes(key, bytesOf(raw));
        if (found && found.expires > now()) return found;
        if (raw !== undefined) await storage?.removeItem(toName(key));
      });
      return kept?.bytes;
    },
    async setBytes(key, bytes, ttlMs) {
      await attempt(async () => {
        const packed = packBytes(key, { bytes, expires: expiryOf(ttlMs) });
        await storage?.setItemRaw(toName(key), packed, ttlOption(ttlMs));
      });
    },
    async clear(key) {
      if (key === undefined) memory.clear();
      else memory.delete(key);
      await attempt(async () => {
        const names = key === undefined ? ((await storage?.getKeys()) ?? []) : [toName(key)];
        for (const name of names) if (name.startsWith(PREFIX)) await storage?.removeItem(name);
      });
    },
  };

  async function readRaw(key: string): Promise<unknown> {
    const raw: unknown = await storage?.getItemRaw(toName(key));
    // The fs driver of unstorage returns some errors instead of throwing them.
    if (raw instanceof Error) throw raw;
    return raw ?? undefined;
  }

  async function read(key: string): Promise<Entry | undefined> {
    const raw = await readRaw(key);
    if (raw === undefined) return;
    const entry = fresh(unpack(key, raw));
    // Expired, torn, damaged or of another version.
    if (!entry) await storage?.removeItem(toName(key));
    return entry;
  }
}

/** Options for a storage that can expire entries. */
function ttlOption(ttlMs: number): { readonly ttl?: number } {
  const ttl = Math.ceil(ttlMs / 1000);
  return ttl > 0 && ttl < MAX_TTL ? { ttl } : {};
}

/** Encodes a key as a name that every storage accepts and that is still readable. */
function toName(key: string): string {
  return `${PREFIX}${key.replace(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 60)}-${hash(JSON.stringify(key)).slice(0, 16)}`;
}

/** Puts a line with the hash of the rest first: writes may tear, and disks may be damaged. */
function pack(key: string, { value, expires }: Entry): string {
  const body = JSON.stringify({ format: FORMAT, key, expires, value });
  return `${hash(body)}\n${body}`;
}

function unpack(key: string, raw: unknown): Entry | undefined {
  const bytes = bytesOf(raw);
  const end = bytes.indexOf(NEWLINE);
  // As bytes: a string of some megabytes would have to be encoded again to be hashed.
  const body = bytes.subarray(end + 1);
  if (end < 0 || bytes.toString("latin1", 0, end) !== hash(body)) return;
  try {
    const { format, key: ownKey, expires, value } = JSON.parse(body.toString("utf8"));
    return format === FORMAT && ownKey === key ? { value, expires: Number(expires) } : undefined;
  } catch {
    return;
  }
}

function bytesOf(raw: unknown): Buffer {
  if (typeof raw === "string") return Buffer.from(raw);
  if (raw instanceof ArrayBuffer) return Buffer.from(raw);
  if (!ArrayBuffer.isView(raw)) return Buffer.alloc(0);
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}

function hash(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
