import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { textResult } from "../../../core/mod.ts";
import type { SharedState } from "../../../core/services/state.ts";
import { createIdempotency } from "../../../plugins/guard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { getProcessIdentity } from "../../../plugins/lib/process-identity.ts";
import { rates } from "../../../plugins/rates.ts";
import { type RedisStore, redisStore } from "../../../plugins/state/redis.ts";
import { idempotencyContract } from "../../contracts/idempotency.ts";
import { testClock } from "../../plugins/guard/_clock.ts";
import { keyed } from "../../plugins/guard/_guarded.ts";
import { getError } from "../../support/failure.ts";
import { freePort, hasRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openPinnedBank } from "../_pinned-bank.ts";

const beginning = { key: "k", fingerprint: "f", deadlineMs: 60_000 };

test("a call of another machine is lost when its lease expires, and not before", async () => {
  const [store, clock] = [{ ...memoryStore(), shared: {} as SharedState }, testClock()];
  const owner = { ...getProcessIdentity(), boot: "of another machine", pid: 2 ** 22 + 1, started: "1" };
  await createIdempotency(store, { clock, owner }).begin(beginning);
  const here = createIdempotency(store, { clock });
  expect(await here.begin(beginning)).toEqual({ state: "in progress" });
  clock.pass(60_000);
  expect(await here.begin(beginning)).toEqual({ state: "unknown" });
});

describe.skipIf(!hasRedis)("the guard on Redis (needs Redis)", () => {
  let redis: TestRedis;
  let admin: Redis;
  const open: RedisStore[] = [];
  const openStore = (url: string, prefix = `${randomUUID()}:`, timeoutMs?: number): RedisStore => {
    const made = redisStore(url, { prefix, timeoutMs });
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

  idempotencyContract("Redis", async () => {
    const [clock, prefix] = [testClock(), `${randomUUID()}:`];
    return {
      idempotency: createIdempotency(openStore(redis.url, prefix, 5_000), { clock }),
      another: createIdempotency(openStore(redis.url, prefix, 5_000), { clock }),
      pass: clock.pass,
      setClock: clock.setClock,
    };
  });

  test("fault 43: time is what the clock of Redis says, whatever that of a machine says", async () => {
    const store = openStore(redis.url, undefined, 5_000);
    await store.isReachable();
    const [seconds] = await admin.time();
    expect(Math.abs(store.clock.wall() - Number(seconds) * 1_000)).toBeLessThan(5_000);
    expect(store.clock.boot).toBe(openStore(redis.url).clock.boot);
  });

  const limits = { "*": { limit: 3, perMs: 3_600_000 } };
  const balance = { tool: "bank:get_balance" };
  const charge = (key: string) => ({ tool: "bank:charge", args: { amount: 5 }, meta: keyed(key) });

  test("limits hold for all gateways together", async () => {
    const prefix = `${randomUUID()}:`;
    const banks = await Promise.all(
      [1, 2, 3].map(() =>
        openPinnedBank({ store: openStore(redis.url, prefix, 5_000), plugins: [rates({ limits })] }),
      ),
    );
    const calls = await Promise.all(
      Array.from({ length: 12 }, (_, index) => banks[index % 3]?.gateway.run(balance)),
    );
    expect(calls.filter((call) => call?.ok)).toHaveLength(3);
    expect(calls.filter((call) => call && !call.ok && call.error.code === "RATE_LIMITED")).toHaveLength(9);
  });

  describe("fault 59: while Redis", () => {
    test("is not there, what reads is limited by each for itself, and nothing else is done", async () => {
      const own = await startRedis();
      const store = openStore(own.url, undefined, 5_000);
      const { gateway, effects } = await openPinnedBank({ store, plugins: [rates({ limits })] });
      await own.stop();
      const reads = [];
      for (let index = 0; index < 4; index++) reads.push(await gateway.run(balance));
      expect(reads.map((call) => (call.ok ? "ok" : call.error.code))).toEqual([
        "ok",
        "ok",
        "ok",
        "RATE_LIMITED",
      ]);
      expect(getError(await gateway.run(charge("key-0001")))).toMatchObject({ code: "STATE_UNAVAILABLE" });
      expect(effects).toHaveLength(3);
    });

    test("is not there at the start, nothing is done, and everything as soon as it is there", async () => {
      const port = await freePort();
      const store = openStore(`redis://127.0.0.1:${port}`);
      const { gateway, effects } = await openPinnedBank({ store });
      expect(getError(await gateway.run(balance)).code).toBe("STATE_UNAVAILABLE");
      expect(getError(await gateway.run(charge("key-0001"))).code).toBe("STATE_UNAVAILABLE");
      expect(effects).toEqual([]);
      const late = await startRedis("--port", String(port));
      await expect.poll(async () => (await gateway.run(balance)).ok, { timeout: 20_000 }).toBe(true);
      await expect
        .poll(async () => (await gateway.run(charge("key-0001"))).ok, { timeout: 20_000 })
        .toBe(true);
      await late.stop();
    });

    test("is slow, no decision waits for it, and no call runs that must be recorded", async () => {
      const own = await startRedis();
      const slow = new Redis(own.url);
      const store = openStore(own.url);
      const { gateway, effects } = await openPinnedBank({ store, plugins: [rates({ limits })] });
      await expect
        .poll(async () => (await gateway.run(charge("key-0001"))).ok, { timeout: 10_000 })
        .toBe(true);
      await slow.call("CLIENT", "PAUSE", "20000", "ALL");
      // It is known that all of these were answered before Redis was, and that is all that is known for certain on a busy machine.
      expect(getError(await gateway.run(charge("key-0002")))).toMatchObject({
        code: "STATE_UNAVAILABLE",
        message: expect.stringContaining("no answer in time"),
      });
      expect((await gateway.run(balance)).ok).toBe(true);
      expect(effects).toHaveLength(2);
      slow.disconnect();
      await own.stop();
    });

    test("cannot count, a call that is not of low risk is told that its key was not used up", async () => {
      const lost = openStore(`redis://127.0.0.1:${await freePort()}`);
      const { gateway, effects } = await openPinnedBank({
        plugins: [rates({ limits, limiter: lost.shared.limiter })],
      });
      const error = getError(await gateway.run(charge("key-0001")));
      expect(error).toMatchObject({
        code: "STATE_UNAVAILABLE",
        data: { sent: false, safe_new_key: true, suggestion: expect.stringContaining("not used up") },
      });
      expect(error.message).toContain('"bank:charge" is not called: its rate limit cannot be checked now.');
      expect(getError(await gateway.run(charge("key-0001"))).code).toBe("STATE_UNAVAILABLE");
      expect(effects).toEqual([]);
    });

    test("loses its last writes in a failover, what was lost is done again once, and that is counted", async () => {
      const master = await startRedis();
      const replica = await startRedis("--replicaof", "127.0.0.1", String(master.port));
      const [prefix, watch] = [`${randomUUID()}:`, new Redis(replica.url)];
      const before = await openPinnedBank({ store: openStore(master.url, prefix, 5_000) });
      await expect
        .poll(async () => /master_link_status:up/.test(await watch.info("replication")), { timeout: 10_000 })
        .toBe(true);
      expect((await before.gateway.run(charge("key-kept1"))).ok).toBe(true);
      await expect
        .poll(async () => (await watch.keys(`${prefix}state:idempotency/*`)).length, { timeout: 10_000 })
        .toBe(1);
      await watch.call("REPLICAOF", "NO", "ONE");
      // The replica hears of nothing any more, as if the master had died before it could tell.
      expect((await before.gateway.run(charge("key-lost1"))).ok).toBe(true);
      await master.stop();
      const after = await openPinnedBank({ store: openStore(replica.url, prefix, 5_000) });
      expect((await after.gateway.run(charge("key-kept1"))).via).toBe("replay");
      expect((await after.gateway.run(charge("key-lost1"))).ok).toBe(true);
      // One duplicate for one lost write: Redis cannot prevent it, as the documentation explains.
      expect(before.effects.length + after.effects.length).toBe(3);
      watch.disconnect();
      await replica.stop();
    });
  });

  test("fault 63: an outcome that Redis did not take is written when it is back, and replayed", async () => {
    const port = await freePort();
    const folder = await temporaryFolder();
    const settings = [
      "--port",
      String(port),
      "--appendonly",
      "yes",
      "--appendfsync",
      "always",
      "--dir",
      folder,
    ];
    let own = await startRedis(...settings);
    const store = openStore(`redis://127.0.0.1:${port}`, undefined, 300);
    const { gateway, effects } = await openPinnedBank({
      store,
      answer: async () => {
        await own.stop();
        return textResult("paid");
      },
    });
    const charge = { tool: "bank:charge", args: { amount: 5 }, meta: keyed("key-0063") };
    expect((await gateway.run(charge)).ok).toBe(true);
    own = await startRedis(...settings);
    try {
      await expect
        .poll(async () => (await gateway.run(charge)).via, { timeout: 20_000, interval: 100 })
        .toBe("replay");
      expect(effects).toHaveLength(1);
    } finally {
      await own.stop();
    }
  }, 60_000);
});
