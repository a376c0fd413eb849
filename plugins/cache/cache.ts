import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { packBytes, unpackBytes } from "./bytes.ts";

/** Keeps what can be made again: in memory first, in a storage below it. */
export interface Cache {
  /** A value that has not expired, if it is there and whole: the one in memory first, unless the stored one is wanted. */
  get(key: string, options?: { readonly stored?: boolean }): Promise<unknown>;
  /** Keeps a JSON value for so long. Never rejects: what cannot be kept is made again. */
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
  /** Bytes that have not expired, if they are there and whole. Nobody holds them but who asked for them. */
  getBytes(key: string): Promise<Uint8Array | undefined>;
  /** Keeps bytes for so long, in the storage alone: they are for the next start. Never rejects. */
  setBytes(key: string, bytes: Uint8Array, ttlMs: number): Promise<void>;
  /** Forgets one key, or all of them. */
  clear(key?: string): Promise<void>;
}

/** What is used of a storage of unstorage. Named here, so that our types do not bring theirs to whoever uses us. */
export interface CacheStorage {
  getItemRaw(key: string): Promise<unknown>;
  /** Storages that can forget by themselves do so after `ttl` seconds. */
  setItemRaw(key: string, value: unknown, options?: { readonly ttl?: number }): Promise<void>;
  removeItem(key: string): Promise<void>;
  getKeys(): Promise<string[]>;
}

/** What a cache is made of. */
export interface CacheParts {
  /** Where values are kept beyond this process; in memory only without one. */
  readonly storage?: CacheStorage | undefined;
  /** Hears once that the storage does not work. */
  readonly onTrouble: (cause: unknown) => void;
  /** The time in milliseconds, for tests. */
  readonly now?: () => number;
}

interface Entry {
  readonly value: unknown;
  readonly expires: number;
}

/** The form of what is stored; another one was written by another version and is not read. */
const FORMAT = "toolpipe-cache-1";
/** A storage may be shared with others, and only what begins so is ours. */
const PREFIX = "toolpipe-";
const NEWLINE = 10;
/** A hundred years, in seconds: what is kept for longer is kept for ever. */
const LONGEST_TTL = 3_155_760_000;

/** Makes a cache. */
export function createCache({ storage, onTrouble, now = Date.now }: CacheParts): Cache {
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
    async get(key, { stored = false } = {}) {
      const own = fresh(memory.get(key));
      // Another process may have stored a newer one than that in memory.
      const entry = stored || !own ? ((await attempt(() => read(key))) ?? own) : own;
      if (entry) memory.set(key, entry);
      else memory.delete(key);
      return entry?.value;
    },
    async set(key, value, ttlMs) {
      const entry = { value, expires: expiryOf(ttlMs) };
      memory.set(key, entry);
      await attempt(async () => storage?.setItemRaw(nameOf(key), pack(key, entry), forgetting(ttlMs)));
    },
    async getBytes(key) {
      const kept = await attempt(async () => {
        const raw = await readRaw(key);
        const found = raw === undefined ? undefined : unpackBytes(key, bytesOf(raw));
        if (found && found.expires > now()) return found;
        if (raw !== undefined) await storage?.removeItem(nameOf(key));
      });
      return kept?.bytes;
    },
    async setBytes(key, bytes, ttlMs) {
      await attempt(async () => {
        const packed = packBytes(key, { bytes, expires: expiryOf(ttlMs) });
        await storage?.setItemRaw(nameOf(key), packed, forgetting(ttlMs));
      });
    },
    async clear(key) {
      if (key === undefined) memory.clear();
      else memory.delete(key);
      await attempt(async () => {
        const names = key === undefined ? ((await storage?.getKeys()) ?? []) : [nameOf(key)];
        for (const name of names) if (name.startsWith(PREFIX)) await storage?.removeItem(name);
      });
    },
  };

  async function readRaw(key: string): Promise<unknown> {
    const raw: unknown = await storage?.getItemRaw(nameOf(key));
    // The storage of files returns some errors instead of throwing them.
    if (raw instanceof Error) throw raw;
    return raw ?? undefined;
  }

  async function read(key: string): Promise<Entry | undefined> {
    const raw = await readRaw(key);
    if (raw === undefined) return;
    const entry = fresh(unpack(key, raw));
    // Old, torn, damaged or written by another version: it is made again.
    if (!entry) await storage?.removeItem(nameOf(key));
    return entry;
  }
}

/** What tells a storage that can forget by itself when to. */
function forgetting(ttlMs: number): { readonly ttl?: number } {
  const ttl = Math.ceil(ttlMs / 1000);
  return ttl > 0 && ttl < LONGEST_TTL ? { ttl } : {};
}

/** A key as a name that no storage objects to, and that a person still recognises. */
function nameOf(key: string): string {
  return `${PREFIX}${key.replace(/[^a-zA-Z0-9_-]+/g, "-").slice(0, 60)}-${hash(JSON.stringify(key)).slice(0, 16)}`;
}

/** A first line that tells whether the rest is whole: storages may tear, and disks may lie. */
function pack(key: string, { value, expires }: Entry): string {
  const body = JSON.stringify({ format: FORMAT, key, expires, value });
  return `${hash(body)}\n${body}`;
}

function unpack(key: string, raw: unknown): Entry | undefined {
  const bytes = bytesOf(raw);
  const end = bytes.indexOf(NEWLINE);
  // As bytes: a text of some megabytes would have to be made into them again to be hashed.
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
