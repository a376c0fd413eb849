import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Gateway, GatewayError } from "../../core/mod.ts";
import { redisStorage } from "../../plugins/cache/drivers.ts";
import { cache } from "../../plugins/cache/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { cacheContract } from "../contracts/cache.ts";
import { openGateway } from "../support/open-gateway.ts";
import { freePort, hasRedis, startRedis, type TestRedis } from "../support/redis.ts";

describe.skipIf(!hasRedis)("the cache in Redis (needs Redis)", () => {
  let redis: TestRedis;
  let admin: Redis;
  const disposable: { dispose(): Promise<void> }[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
  });
  afterAll(async () => {
    for (const each of disposable) await each.dispose();
    admin?.disconnect();
    await redis?.stop();
  });

  cacheContract("Redis", async () => {
    const storage = await redisStorage(redis.url, `${randomUUID()}:cache`, 20_000);
    disposable.push(storage);
    return storage;
  });

  async function openCache(url: string): Promise<{ gateway: Gateway; errors: GatewayError[] }> {
    const errors: GatewayError[] = [];
    const listener = {
      name: "listener",
      setup: () => ({ error: (error: GatewayError) => void errors.push(error) }),
    };
    const gateway = await openGateway({ plugins: [state({ state: url }), cache(), listener] });
    return { gateway, errors };
  }

  test("is where the state is, so that what one gateway has found another has too, and Redis forgets it in time", async () => {
    const [one, other] = await Promise.all([openCache(redis.url), openCache(redis.url)]);
    await one.gateway.services.cache?.set("k", { n: 1 }, 90_000);
    expect(await other.gateway.services.cache?.get("k")).toEqual({ n: 1 });
    const [name = ""] = await admin.keys("toolpipe:cache:*");
    expect(await admin.ttl(name)).toBeGreaterThan(60);
    expect(await admin.ttl(name)).toBeLessThanOrEqual(90);
    await one.gateway.services.cache?.set("k", { n: 2 }, 90_000);
    expect(await other.gateway.services.cache?.get("k")).toEqual({ n: 1 });
    expect(await other.gateway.services.cache?.get("k", { stored: true })).toEqual({ n: 2 });
    expect(one.errors).toEqual([]);
  });

  test("fault 59: falls back to memory while Redis is down, warns once, and recovers with it", async () => {
    const port = await freePort();
    const { gateway, errors } = await openCache(`redis://127.0.0.1:${port}`);
    const kept = gateway.services.cache;
    await kept?.set("k", 1, 60_000);
    await kept?.set("l", 2, 60_000);
    expect([await kept?.get("k"), await kept?.get("l"), await kept?.get("m")]).toEqual([1, 2, undefined]);
    expect(errors.filter(({ code }) => code === "CACHE_UNAVAILABLE").map(({ message }) => message)).toEqual([
      expect.stringContaining("The cache in Redis cannot be read or written"),
    ]);
    const late = await startRedis("--port", String(port));
    onTestFinished(() => late.stop());
    const watch = new Redis(`redis://127.0.0.1:${port}`);
    onTestFinished(() => watch.disconnect());
    await expect
      .poll(
        async () => {
          await kept?.set("k", 3, 60_000);
          return (await watch.keys("toolpipe:cache:*")).length;
        },
        { timeout: 20_000 },
      )
      .toBe(1);
  });
});
