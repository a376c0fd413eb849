import * as v from "valibot";
import {
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  type PluginFactory,
} from "../../core/mod.ts";
import { cacheFolder } from "../state/mod.ts";
import { type Cache, type CacheStorage, createCache } from "./cache.ts";
import { fileStorage } from "./file-storage.ts";

export { type Cache, type CacheParts, type CacheStorage, createCache } from "./cache.ts";
export { fileStorage } from "./file-storage.ts";

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `cache`. */
    cache?: CacheService;
  }
}

/** The cache and how long it keeps what servers say. */
export interface CacheService extends Cache {
  /** How long lists of servers and tools are fresh. */
  readonly ttlMs: number;
}

/** The options of {@link cache}. */
export interface CacheOptions {
  /** Without it, everything is asked anew; true by default. */
  readonly enabled?: boolean;
  /** How long lists of servers and tools are fresh, in seconds; an hour by default. */
  readonly ttl?: number;
  /** The folder of the files; the person's cache folder by default, or the Redis of the state where it is in one. */
  readonly folder?: string;
  /** Any storage of unstorage, in place of files. */
  readonly storage?: CacheStorage;
}

interface Checked extends CacheOptions {
  readonly enabled: boolean;
  readonly ttl: number;
}

const options = v.strictObject({
  enabled: v.optional(v.boolean(), true),
  ttl: v.optional(v.pipe(v.number(), v.minValue(0, "a number of seconds, 0 or more")), 3600),
  folder: v.optional(v.string()),
  storage: v.optional(
    v.custom<CacheStorage>(
      (value) => typeof (value as Partial<CacheStorage> | null)?.getItemRaw === "function",
      "a storage of unstorage",
    ),
  ),
});

/** The cache works in memory only. */
export const CACHE_UNAVAILABLE: ErrorKind = defineError("CACHE_UNAVAILABLE");

/** Keeps what servers say, so that the next start does not have to ask them. */
export const cache: PluginFactory<"cache", CacheOptions, Checked> = definePlugin({
  name: "cache",
  keys: ["cache"],
  options: options as v.GenericSchema<CacheOptions, Checked>,
  async setup(gateway, { enabled, ttl, folder, storage }) {
    if (!enabled) return;
    const place = folder ?? cacheFolder();
    // What many gateways share their state in, they share this in too: what one has found, the others need not ask for.
    const { commons } = gateway.services.state ?? {};
    const shared = storage || folder !== undefined ? undefined : await commons?.storage();
    const where = storage ? "" : shared ? " in Redis" : ` in ${place}`;
    const made = createCache({
      storage: storage ?? shared ?? fileStorage(place),
      onTrouble: (cause) => gateway.report(unavailable(cause, where)),
    });
    gateway.services.cache = { ...made, ttlMs: ttl * 1000 };
    return { close: () => shared?.dispose() };
  },
});

function unavailable(cause: unknown, where: string): GatewayError {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  const reason = typeof code === "string" ? ` (${code})` : "";
  return new GatewayError(
    CACHE_UNAVAILABLE,
    `The cache${where} cannot be read or written${reason}; it works in memory only.`,
    { cause },
  );
}
