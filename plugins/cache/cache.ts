import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";

/** Keeps what can be made again: in memory first, in a storage below it. */
export interface Cache {
  /** A value that has not expired, if it is there and whole: the one in memory first, unless the stored one is wanted. */
  get(key: string, options?: { readonly stored?: boolean }): Promise<unknown>;
  /** Keeps a JSON value for so long. Never rejects: what cannot be kept is made again. */
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
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
      const entry = { value, expires: Math.min(now() + ttlMs, Number.MAX_SAFE_INTEGER) };
      memory.set(key, entry);
      const ttl = Math.ceil(ttlMs / 1000);
      const forget = ttl > 0 && ttl < LONGEST_TTL ? { ttl } : {};
      await attempt(async () => storage?.setItemRaw(nameOf(key), pack(key, entry), forget));
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

  async function read(key: string): Promise<Entry | undefined> {
    const raw: unknown = await storage?.getItemRaw(nameOf(key));
    if (raw === null || raw === undefined) return;
    // The storage of files returns some errors instead of throwing them.
    if (raw instanceof Error) throw raw;
    const entry = fresh(unpack(key, raw));
    // Old, torn, damaged or written by another version: it is made again.
    if (!entry) await storage?.removeItem(nameOf(key));
    return entry;
  }
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
  const text = textOf(raw);
  const end = text.indexOf("\n");
  const body = text.slice(end + 1);
  if (text.slice(0, end) !== hash(body)) return;
  try {
    const { format, key: ownKey, expires, value } = JSON.parse(body);
    return format === FORMAT && ownKey === key ? { value, expires: Number(expires) } : undefined;
  } catch {
    return;
  }
}

function textOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  const isBytes = raw instanceof ArrayBuffer || ArrayBuffer.isView(raw);
  return isBytes ? new TextDecoder().decode(raw as Uint8Array) : "";
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
