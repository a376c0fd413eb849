import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createGateway, definePlugin, loadConfig } from "../../../core/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { type RedisStore, redisStore } from "../../../plugins/state/redis.ts";
import { openRedisConnection } from "../../../plugins/state/redis-connection.ts";
import { createRedisLimiter } from "../../../plugins/state/redis-shared.ts";
import { presets } from "../../../presets/mod.ts";
import { rateLimiterContract } from "../../contracts/rate-limiter.ts";
import { stateStoreContract } from "../../contracts/state-store.ts";
import { catchFailure } from "../../support/failure.ts";
import { freePort, hasRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe.skipIf(!hasRedis)("state in Redis (needs Redis)", () => {
  let redis: TestRedis;
  let admin: Redis;
  const open: { close(): unknown }[] = [];
  const store = (url = redis.url, timeoutMs = 5_000): RedisStore => {
    const made = redisStore(url, { prefix: `${randomUUID()}:`, timeoutMs });
    open.push(made);
    return made;
  };

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
  });
  afterAll(async () => {
    for (const each of open) await each.close();
    admin?.disconnect();
    await redis?.stop();
  });

  stateStoreContract("Redis", async () => store());
  rateLimiterContract("Redis", async () => {
    let now = 1_700_000_000_000;
    const connection = openRedisConnection({ url: redis.url, timeoutMs: 5_000 });
    open.push(connection);
    return {
      limiter: createRedisLimiter(connection, `${randomUUID()}:`, () => now),
      pass(ms) {
        now += ms;
      },
    };
  });

  test("the limiter counts by the clock of Redis, for everybody", async () => {
    const prefix = `${randomUUID()}:`;
    const [one, other] = [redisStore(redis.url, { prefix }), redisStore(redis.url, { prefix })];
    open.push(one, other);
    const bucket = [{ name: "b", limit: 5, perMs: 3_600_000 }];
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).shared.limiter.take(bucket)),
    );
    expect(taken.filter(({ ok }) => ok)).toHaveLength(5);
    expect(taken.find(({ ok }) => !ok)?.retryAfterMs).toBeGreaterThan(600_000);
  });

  test("an entry of another program is damaged, not missing", async () => {
    const prefix = `${randomUUID()}:`;
    const own = redisStore(redis.url, { prefix });
    open.push(own);
    await admin.set(`${prefix}state:g/k`, "{not ours");
    expect(await catchFailure(own.get("g/k"))).toMatchObject({ code: "STATE_DAMAGED" });
    expect(await own.list("g/")).toEqual([]);
    expect(await own.listDamaged?.()).toEqual([`${prefix}state:g/k in Redis`]);
    expect(await own.setIfAbsent("g/k", {})).toBe(false);
    expect(await own.replace("g/k", { n: 1 })).toBe(true);
    expect((await own.get("g/k"))?.value).toEqual({ n: 1 });
  });

  test("a key with signs of patterns lists itself alone", async () => {
    const own = store();
    for (const key of ["a*/1", "ab/1", "a[b]/1", "a?/1"]) await own.setIfAbsent(key, {});
    for (const prefix of ["a*", "a[b]", "a?"])
      expect((await own.list(prefix)).map(({ key }) => key)).toEqual([`${prefix}/1`]);
  });

  test("a Redis that may throw keys away is refused, and said why", async () => {
    const evicting = await startRedis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru");
    const own = store(evicting.url);
    const error = await catchFailure(own.isReachable());
    expect(error).toMatchObject({ code: "STATE_UNAVAILABLE" });
    expect(error.message).toMatch(/maxmemory-policy allkeys-lru.*noeviction/);
    expect((await catchFailure(own.setIfAbsent("g/k", {}))).message).toBe(error.message);
    await evicting.stop();
  });

  describe("fault 59: a Redis", () => {
    test("that is not there fails everything at once, without the password of its address", async () => {
      const own = store(`redis://me:hunter2@127.0.0.1:${await freePort()}`, 300);
      const error = await catchFailure(own.get("g/k"));
      expect(error).toMatchObject({ code: "STATE_UNAVAILABLE" });
      expect(error.message).toMatch(
        /^The state in Redis at 127\.0\.0\.1:\d+ cannot be read \((ECONNREFUSED|not connected)\)\.$/,
      );
      expect(JSON.stringify(error.data)).not.toContain("hunter2");
      await expect(own.setIfAbsent("g/k", {})).rejects.toMatchObject({ code: "STATE_UNAVAILABLE" });
    });

    test("that is slow fails in time, and works again by itself", async () => {
      const own = store(redis.url, 300);
      await own.replace("g/k", { n: 1 });
      await admin.call("CLIENT", "PAUSE", "1500", "ALL");
      await expect(own.get("g/k")).rejects.toMatchObject({ code: "STATE_UNAVAILABLE" });
      await expect
        .poll(() => own.get("g/k").catch(() => undefined), { timeout: 10_000 })
        .toMatchObject({
          value: { n: 1 },
        });
    });

    test("that is full fails with the reason, and keeps earlier values", async () => {
      const small = await startRedis("--maxmemory", "3mb", "--maxmemory-policy", "noeviction");
      const own = store(small.url);
      await own.setIfAbsent("g/first", { n: 1 });
      const large = { text: "x".repeat(500_000) };
      let error: { code?: string; message?: string } | undefined;
      for (let index = 0; index < 20 && !error; index++)
        error = await own.setIfAbsent(`g/${index}`, large).then(
          () => undefined,
          (thrown) => thrown,
        );
      expect(error?.code).toBe("STATE_UNAVAILABLE");
      expect(error?.message).toContain("(OOM)");
      expect((await own.get("g/first"))?.value).toEqual({ n: 1 });
      await small.stop();
    });

    test("that only reads is not written to, and is found again once it is a master", async () => {
      const replica = await startRedis("--replicaof", "127.0.0.1", String(redis.port));
      const own = store(replica.url);
      await expect(own.setIfAbsent("g/k", {})).rejects.toMatchObject({
        code: "STATE_UNAVAILABLE",
        message: expect.stringContaining("READONLY"),
      });
      const promote = new Redis(replica.url);
      await promote.call("REPLICAOF", "NO", "ONE");
      promote.disconnect();
      await expect.poll(() => own.setIfAbsent("g/k", {}).catch(() => false), { timeout: 10_000 }).toBe(true);
      await replica.stop();
    });

    test("that comes back is used again", async () => {
      const first = await startRedis();
      const own = store(first.url, 300);
      await own.setIfAbsent("g/k", {});
      await first.stop();
      await expect(own.get("g/k")).rejects.toMatchObject({ code: "STATE_UNAVAILABLE" });
      const second = await startRedis("--port", String(first.port));
      await expect
        .poll(() => own.setIfAbsent("g/again", {}).catch(() => false), { timeout: 10_000 })
        .toBe(true);
      await second.stop();
    });
  });
});

describe.skipIf(!hasRedis)("the plugin with a Redis (needs Redis)", () => {
  test("one line of a config turns it on", async () => {
    const redis = await startRedis("--requirepass", "se cret/1");
    vi.stubEnv("REDIS_PASSWORD", "se cret/1");
    const file = join(
      await temporaryFolder({
        "toolpipe.config.json": JSON.stringify({
          preset: "passthrough",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable in a config
          state: "redis://:${REDIS_PASSWORD}@127.0.0.1:PORT".replace("PORT", String(redis.port)),
        }),
      }),
      "toolpipe.config.json",
    );
    const gateway = await createGateway(await loadConfig({ presets, file }));
    expect(await gateway.services.state?.setIfAbsent("g/k", { n: 1 })).toBe(true);
    const admin = new Redis(redis.url, { password: "se cret/1" });
    expect(await admin.keys("*")).toContain("toolpipe:state:g/k");
    admin.disconnect();
    await gateway.close();
    vi.unstubAllEnvs();
    await redis.stop();
  });

  test("a Redis that throws keys away is no start", async () => {
    const redis = await startRedis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru");
    const error = await catchFailure(createGateway({ plugins: [state({ state: redis.url })] }));
    expect(error.message).toContain("maxmemory-policy allkeys-lru");
    await redis.stop();
  });

  test("one that is not there yet is reported, and used once it is", async () => {
    const port = await freePort();
    const errors: string[] = [];
    const listening = definePlugin({
      name: "listening",
      setup: () => ({ error: ({ message }) => void errors.push(message) }),
    });
    const gateway = await createGateway({
      plugins: [listening(), state({ state: `redis://127.0.0.1:${port}` })],
    });
    expect(errors).toEqual([
      "Redis cannot be reached (ECONNREFUSED). Calls that need stored state fail until Redis is back.",
    ]);
    const redis = await startRedis("--port", String(port));
    await expect
      .poll(() => gateway.services.state?.setIfAbsent("g/k", {}).catch(() => false), { timeout: 10_000 })
      .toBe(true);
    await gateway.close();
    await redis.stop();
  });

  test("a variable that is not set is named", async () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable in a config
    const plugin = state({ state: "redis://:${NOT_SET_ANYWHERE}@host" });
    const error = await catchFailure(createGateway({ plugins: [plugin] }));
    expect(error.message).toContain("NOT_SET_ANYWHERE");
  });
});
