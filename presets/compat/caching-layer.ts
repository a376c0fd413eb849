import { LRUCache } from "lru-cache";
import type { CacheConfig, CompatServerMetadata, CompatToolMetadata } from "./types.ts";

/** Entries at once; the least recently used one goes first. */
const MAX_ENTRIES = 10_000;
const SERVERS = "servers";

/** Caches lists of servers and tools for a number of seconds, and details of tools until they are invalidated. */
export class CachingLayer {
  readonly #entries = new LRUCache<string, object>({ max: MAX_ENTRIES, ttlResolution: 0 });
  readonly #isEnabled: boolean;
  readonly #ttl: number;

  /** Takes the seconds for which lists are cached that are given none: an hour by default. */
  constructor({ enabled, ttl }: CacheConfig = { enabled: true, ttl: 3600 }) {
    this.#isEnabled = enabled;
    this.#ttl = ttl;
  }

  cacheServerList(servers: CompatServerMetadata[], ttl: number = this.#ttl): void {
    this.#set(SERVERS, servers, ttl);
  }

  getServerList(): CompatServerMetadata[] | null {
    return this.#get(SERVERS);
  }

  cacheToolSummaries(server: string, tools: CompatToolMetadata[], ttl: number = this.#ttl): void {
    this.#set(toKey("tools", server), tools, ttl);
  }

  getToolSummaries(server: string): CompatToolMetadata[] | null {
    return this.#get(toKey("tools", server));
  }

  cacheToolDetails(server: string, tool: string, details: CompatToolMetadata): void {
    this.#set(toKey("details", server, tool), details, Number.POSITIVE_INFINITY);
  }

  getToolDetails(server: string, tool: string): CompatToolMetadata | null {
    return this.#get(toKey("details", server, tool));
  }

  /** Drops `servers` (the list of servers), all of one server by its name, or all. */
  invalidate(key?: string): void {
    for (const entry of [...this.#entries.keys()]) {
      if (key === undefined || entry === key || (entry !== SERVERS && JSON.parse(entry)[1] === key))
        this.#entries.delete(entry);
    }
  }

  invalidateAll(): void {
    this.#entries.clear();
  }

  #set(key: string, value: object, ttl: number): void {
    // A time of 0 would mean "for ever" to the cache.
    if (!this.#isEnabled || !(ttl > 0)) this.#entries.delete(key);
    else this.#entries.set(key, value, Number.isFinite(ttl) ? { ttl: Math.ceil(ttl * 1000) } : {});
  }

  #get<T extends object>(key: string): T | null {
    return (this.#entries.get(key) as T | undefined) ?? null;
  }
}

function toKey(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
