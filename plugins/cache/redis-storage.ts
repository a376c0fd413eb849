import type { Redis } from "ioredis";
import type { CacheStorage } from "./cache.ts";

/** Nobody waits longer for what could be made again. */
const TIMEOUT_MS = 1_000;

/** The Redis of unstorage; one that is not there fails at once, and is used again when it is. */
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
    // Otherwise commands would be kept, and whoever asks would wait until it is there.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: timeoutMs,
    retryStrategy: (times: number) => Math.min(50 * 2 ** times, 1_000),
  });
  const client = driver.getInstance?.() as Redis;
  // What fails is told by each command.
  client.on("error", () => {});
  // A first command that came before the connection would fail for no reason.
  await Promise.race([
    new Promise<void>((resolve) => client.once("ready", resolve)),
    new Promise<void>((resolve) => setTimeout(resolve, timeoutMs).unref?.()),
    new Promise<void>((resolve) => client.once("close", resolve)),
  ]);
  return createStorage({ driver });
}
