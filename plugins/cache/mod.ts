import { resolve } from "node:path";
import * as v from "valibot";
import {
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  type PluginFactory,
} from "../../core/mod.ts";
import type { CacheStorage } from "../../core/services/cache.ts";
import { type DriverOptions, driverChoice, driverName } from "../lib/driver-choice.ts";
import { fileStorage } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";
import { createCache } from "./cache.ts";
import { cacheDrivers, openStorage } from "./drivers.ts";

export type { Cache, CacheDriver, CacheStorage } from "../../core/services/cache.ts";
export { fileStorage } from "../lib/files.ts";
export { type CacheParts, createCache } from "./cache.ts";

/** Options of the plugin `cache`. */
export interface CacheOptions {
  /** Whether anything is cached; true by default. */
  readonly enabled?: boolean;
  /** How long lists of servers and tools are fresh, in seconds; an hour by default. */
  readonly ttl?: number;
  /** The folder of the files; `CCOS_MCP_CACHE_DIR`, the user's cache folder, or the Redis of the state by default. */
  readonly folder?: string;
  /**
   * A storage in place of files: `files`, `memory`, `redis`, any driver of unstorage by its name, the path of a module
   * that exports one, each alone or as `{ type, ...options }`; or a storage of unstorage.
   */
  readonly storage?: string | DriverOptions | CacheStorage;
}

interface CheckedOptions extends CacheOptions {
  readonly enabled: boolean;
  readonly ttl: number;
}

const options = v.strictObject({
  enabled: v.optional(v.boolean(), true),
  ttl: v.optional(v.pipe(v.number(), v.minValue(0, "a number of seconds, 0 or more")), 3600),
  folder: v.optional(v.string()),
  storage: v.optional(
    v.union(
      [
        v.custom<CacheStorage>(
          (value) => typeof (value as Partial<CacheStorage> | null)?.getItemRaw === "function",
        ),
        driverChoice,
      ],
      "a storage of unstorage, the name of a driver, or the path of a module",
    ),
  ),
});

/** The storage does not work; the cache works in memory only. */
export const CACHE_UNAVAILABLE: ErrorKind = defineError("CACHE_UNAVAILABLE");

/** Caches what servers list, so that the next start need not ask them. */
export const cache: PluginFactory<"cache", CacheOptions, CheckedOptions> = definePlugin({
  name: "cache",
  uses: ["state?"],
  provides: ["cache"],
  keys: ["cache"],
  options: options as v.GenericSchema<CacheOptions, CheckedOptions>,
  async setup(gateway, { enabled, ttl, folder, storage: choice }) {
    for (const [name, driver] of Object.entries(cacheDrivers)) gateway.register("cacheStorage", name, driver);
    if (!enabled) return;
    // Not `.ccos/mcp_cache` in the current folder, the default of spec 004: the author of a project could then say what
    // the tools of the user's servers are. Setting the variable is the user's own decision.
    const chosen = folder ?? (process.env["CCOS_MCP_CACHE_DIR"] || undefined);
    const place = chosen === undefined ? cacheFolder() : resolve(chosen);
    // Gateways that share their state share the cache too: what one of them has listed, the others need not list.
    const address = chosen === undefined ? gateway.services.state?.shared?.address : undefined;
    const shared = address === undefined ? undefined : { type: "redis", url: address };
    const opened = choice ?? shared;
    const storage = opened ? await openStorage(gateway, opened) : fileStorage(place);
    const where = opened ? (driverName(opened) === "redis" ? " in Redis" : "") : ` in ${place}`;
    gateway.provide(
      "cache",
      createCache({
        storage,
        ttlMs: ttl * 1000,
        onTrouble: (cause) => gateway.report(unavailable(cause, where)),
      }),
    );
    return {
      async close() {
        // A storage that was given as an object belongs to its owner.
        if (driverName(opened) !== undefined) await storage.dispose?.();
      },
    };
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
