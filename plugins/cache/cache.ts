import { LRUCache } from "lru-cache";
import type { Cache, CacheStorage } from "../../core/services/cache.ts";
import { sha256Hex } from "../lib/hash.ts";

/** Dependencies of a cache. */
export interface CacheParts {
  /** Storage beyond this process; in memory only without one. */
  readonly storage?: CacheStorage | undefined;
  /** Age up to which lists of servers and tools are fresh; an hour by default. */
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

/** Formats of stored values and bytes; entries with another format are not read. */
const FORMAT = "toolpipe-cache-1";
const BYTES_FORMAT = "toolpipe-bytes-1";
/** Prefix of keys: a storage may be shared with other programs. */
const PREFIX = "toolpipe-";
const NEWLINE = 10;
const HOUR_MS = 3_600_000;
/** A hundred years in seconds: a longer time means for ever. */
const MAX_TTL = 3_155_760_000;
/** Numbers of any size can be read in place if they begin at a multiple of this. */
const ALIGNMENT = 8;
const HASH_BYTES = 32;
/** Maximal length of the header line of stored bytes. */
const MAX_LINE = 4_096;

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
  const toExpiry = (ttlMs: number): number => Math.min(now() + ttlMs, Number.MAX_SAFE_INTEGER);
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
      const entry = { value, expires: toExpiry(forMs) };
      memory.set(key, entry);
      await attempt(async () => storage?.setItemRaw(toName(key), pack(key, entry), ttlOption(forMs)));
    },
    async getBytes(key) {
      const kept = await attempt(async () => {
        const raw = await readRaw(key);
        const found = raw === undefined ? undefined : unpackBytes(key, toBuffer(raw));
        if (found && found.expires > now()) return found;
        if (raw !== undefined) await storage?.removeItem(toName(key));
      });
      return kept?.bytes;
    },
    async setBytes(key, bytes, ttlMs) {
      await attempt(async () => {
        const packed = packBytes(key, { bytes, expires: toExpiry(ttlMs) });
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
  return `${PREFIX}${key.replace(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 60)}-${sha256Hex(JSON.stringify(key)).slice(0, 16)}`;
}

/** Puts a line with the hash of the rest first: writes may tear, and disks may be damaged. */
function pack(key: string, { value, expires }: Entry): string {
  const body = JSON.stringify({ format: FORMAT, key, expires, value });
  return `${sha256Hex(body)}\n${body}`;
}

function unpack(key: string, raw: unknown): Entry | undefined {
  const bytes = toBuffer(raw);
  const end = bytes.indexOf(NEWLINE);
  // As bytes: a string of some megabytes would have to be encoded again to be hashed.
  const body = bytes.subarray(end + 1);
  if (end < 0 || bytes.toString("latin1", 0, end) !== sha256Hex(body)) return;
  try {
    const { format, key: ownKey, expires, value } = JSON.parse(body.toString("utf8"));
    return format === FORMAT && ownKey === key ? { value, expires: Number(expires) } : undefined;
  } catch {
    return;
  }
}

function toBuffer(raw: unknown): Buffer {
  if (typeof raw === "string") return Buffer.from(raw);
  if (raw instanceof ArrayBuffer) return Buffer.from(raw);
  if (!ArrayBuffer.isView(raw)) return Buffer.alloc(0);
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}

/** Bytes with their expiry. */
interface ExpiringBytes {
  readonly bytes: Uint8Array;
  readonly expires: number;
}

/** Writes the hash of the rest, a header line, and the bytes. */
function packBytes(key: string, { bytes, expires }: ExpiringBytes): Uint8Array {
  const line = Buffer.from(JSON.stringify({ format: BYTES_FORMAT, key, expires }));
  const begin = Math.ceil((HASH_BYTES + line.length + 1) / ALIGNMENT) * ALIGNMENT;
  const all = Buffer.alloc(begin + bytes.length, " ");
  all.set(line, HASH_BYTES);
  all[begin - 1] = NEWLINE;
  all.set(bytes, begin);
  all.set(digest(all.subarray(HASH_BYTES)));
  return all;
}

/** Reads intact bytes that were packed under this key, as an aligned view. */
function unpackBytes(key: string, packed: Uint8Array): ExpiringBytes | undefined {
  const { buffer, byteOffset, byteLength } =
    packed.byteOffset % ALIGNMENT === 0 ? packed : Uint8Array.from(packed);
  const all = Buffer.from(buffer, byteOffset, byteLength);
  const end = all.subarray(0, MAX_LINE).indexOf(NEWLINE, HASH_BYTES);
  if (end < 0 || !digest(all.subarray(HASH_BYTES)).equals(all.subarray(0, HASH_BYTES))) return;
  try {
    const { format, key: ownKey, expires } = JSON.parse(all.toString("utf8", HASH_BYTES, end));
    if (format !== BYTES_FORMAT || ownKey !== key) return;
    return {
      bytes: new Uint8Array(buffer, byteOffset + end + 1, byteLength - end - 1),
      expires: Number(expires),
    };
  } catch {
    return;
  }
}

function digest(content: Uint8Array): Buffer {
  return Buffer.from(sha256Hex(content), "hex");
}
