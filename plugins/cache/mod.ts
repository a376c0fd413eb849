import { resolve } from "node:path";
import * as v from "valibot";
import { defineError, definePlugin, type ErrorKind, GatewayError } from "../../core/mod.ts";
import type { CacheStorage } from "../../core/services/cache.ts";
import { driverChoice, getDriverName } from "../lib/driver-choice.ts";
import { fileStorage } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";
import { option, trueOrFalse } from "../lib/options.ts";
import { createCache } from "./cache.ts";
import { cacheDrivers, openStorage } from "./drivers.ts";

export type { Cache, CacheDriver, CacheStorage } from "../../core/services/cache.ts";
export { fileStorage } from "../lib/files.ts";
export { type CacheParts, createCache } from "./cache.ts";

const options = v.strictObject({
  enabled: option(trueOrFalse, "Whether anything is cached.", true),
  ttl: option(
    v.pipe(v.number(), v.minValue(0, "a number of seconds, 0 or more")),
    "Seconds for which lists of servers and tools are fresh.",
    3600,
  ),
  folder: option(
    v.string(),
    "Folder of the files. Without it, the one in `CCOS_MCP_CACHE_DIR`, the Redis of the state, or the user's cache folder.",
  ),
  storage: option(
    v.union(
      [
        v.custom<CacheStorage>(
          (value) => typeof (value as Partial<CacheStorage> | null)?.getItemRaw === "function",
        ),
        driverChoice,
      ],
      "a storage of unstorage, the name of a driver, or the path of a module",
    ),
    "Storage in place of files: `files`, `memory`, `redis`, a driver of unstorage by name, or the path of a module that exports one, alone or as `{ type, ...options }`.",
  ),
});

/** Options for the cache plugin. */
export type CacheOptions = v.InferInput<typeof options>;

export const CACHE_UNAVAILABLE: ErrorKind = defineError("CACHE_UNAVAILABLE", {
  description: "The storage does not work; the cache works in memory only.",
});

/** Caches what servers list, so that the next start need not ask them. */
export const cache = definePlugin({
  name: "cache",
  uses: ["state?"],
  provides: ["cache"],
  keys: ["cache"],
  options,
  errors: { CACHE_UNAVAILABLE },
  async setup(gateway, { enabled, ttl, folder, storage: choice }) {
    for (const [name, driver] of Object.entries(cacheDrivers)) gateway.register("cacheStorage", name, driver);
    if (!enabled) return;
    // Not `.ccos/mcp_cache` in the current folder, the default of spec 004: the author of a project could then define
    // the tools of the user's servers. Setting the variable is the user's own decision.
    const chosen = folder ?? (process.env["CCOS_MCP_CACHE_DIR"] || undefined);
    const place = chosen === undefined ? cacheFolder() : resolve(chosen);
    // Gateways that share their state share the cache too: what one of them has listed, the others need not list.
    const address = chosen === undefined ? gateway.services.state?.shared?.address : undefined;
    const shared = address === undefined ? undefined : { type: "redis", url: address };
    const opened = choice ?? shared;
    const storage = opened ? await openStorage(gateway, opened) : fileStorage(place);
    const where = opened ? (getDriverName(opened) === "redis" ? " in Redis" : "") : ` in ${place}`;
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
        if (getDriverName(opened) !== undefined) await storage.dispose?.();
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
