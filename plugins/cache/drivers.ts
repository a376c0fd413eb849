import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { Redis } from "ioredis";
import type { Driver } from "unstorage";
import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import type { CacheDriver, CacheStorage, StorageDriver } from "../../core/services/cache.ts";
import { redisRetryDelay } from "../lib/backoff.ts";
import {
  checkDriverFields,
  createDriver,
  type DriverOptions,
  getDriverName,
  getDriverOptions,
} from "../lib/driver-choice.ts";
import { fileStorage } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";

/** Timeout of one command: a cached value is not worth a longer wait. */
const TIMEOUT_MS = 1_000;

/** Built-in storages of the cache; any driver of unstorage can be named beside them. */
export const cacheDrivers: Readonly<Record<string, CacheDriver>> = {
  files: ({ folder }) => fileStorage(typeof folder === "string" ? folder : cacheFolder()),
  memory: async () => (await import("unstorage")).createStorage(),
  redis: ({ url, base = "toolpipe:cache", timeoutMs }) =>
    redisStorage(
      String(url ?? "redis://127.0.0.1:6379"),
      String(base),
      typeof timeoutMs === "number" ? timeoutMs : undefined,
    ),
};

/** Opens the storage that an option names; an object that is a storage is returned as it is. */
export async function openStorage(
  gateway: Pick<Gateway, "driver" | "drivers">,
  choice: string | DriverOptions | CacheStorage,
): Promise<CacheStorage> {
  const name = getDriverName(choice);
  if (name === undefined) return choice as CacheStorage;
  const chosen = choice as string | DriverOptions;
  const builtin = gateway.drivers("cacheStorage").has(name) ? undefined : await findUnstorageDriver(name);
  if (!builtin) return toStorage(name, await createDriver(gateway, "cacheStorage", chosen));
  return toStorage(name, builtin(getDriverOptions(chosen)));
}

/** Functions that the storage of a user's module must have. */
const storageFields = {
  getItemRaw: "function",
  setItemRaw: "function",
  removeItem: "function",
  getKeys: "function",
} as const;

/** Wraps a driver of unstorage; a storage is used as it is. */
async function toStorage(name: string, value: CacheStorage | StorageDriver): Promise<CacheStorage> {
  // Drivers have `hasItem`, storages have `mount` too; the storage of files has neither.
  const isDriver = typeof value === "object" && value !== null && "hasItem" in value && !("mount" in value);
  if (!isDriver) {
    checkDriverFields("cacheStorage", name, value, storageFields);
    return value as CacheStorage;
  }
  return (await import("unstorage")).createStorage({ driver: value as Driver });
}

/** Finds the factory of a driver that comes with unstorage, such as `fs`, `mongodb` or `lru-cache`. */
async function findUnstorageDriver(
  name: string,
): Promise<((options: Readonly<JsonObject>) => StorageDriver) | undefined> {
  if (/[./]/.test(name)) return undefined;
  const { builtinDrivers } = await import("unstorage");
  if (!Object.hasOwn(builtinDrivers, name)) return undefined;
  const specifier = builtinDrivers[name as keyof typeof builtinDrivers];
  try {
    const file = createRequire(import.meta.url).resolve(specifier);
    const { default: module } = await import(pathToFileURL(file).href);
    return module.default ?? module;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n", 1)[0] : "it failed";
    throw new GatewayError(
      "CONFIG_INVALID",
      `cache.storage: the driver "${name}" of unstorage cannot be loaded: ${reason}`,
      { cause },
    );
  }
}

/** Opens the Redis driver of unstorage so that commands fail at once while Redis is down, and work again with it. */
export async function redisStorage(
  url: string,
  base: string,
  timeoutMs: number = TIMEOUT_MS,
): Promise<CacheStorage & { dispose(): Promise<void> }> {
  const [{ createStorage }, { default: redis }] = await Promise.all([
    import("unstorage"),
    import("unstorage/drivers/redis"),
  ]);
  const driver = redis({
    url,
    base,
    scanCount: 500,
    // Otherwise commands would be queued, and their callers would wait until Redis is back.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: timeoutMs,
    retryStrategy: redisRetryDelay,
  });
  const client = driver.getInstance?.() as Redis;
  // Each command reports its own failure.
  client.on("error", () => {});
  // A first command before the connection would fail for no reason.
  await Promise.race([
    new Promise<void>((resolve) => client.once("ready", resolve)),
    new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref?.()),
    new Promise<void>((resolve) => client.once("close", resolve)),
  ]);
  return createStorage({ driver });
}
