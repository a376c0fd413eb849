import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { replicas } from "../../../plugins/replicas/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { hasRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { fixture, script } from "../../support/stdio-servers.ts";
import { openReplica } from "./_replica.ts";

const { command, args } = script(fixture("sdk-server.mjs"), "--legacy", "serve");
const server = { command, args: [...args] };

test("does nothing where the state is not shared", async () => {
  const gateway = await createGateway({ plugins: [state({ store: memoryStore() }), replicas()] });
  expect(gateway.services.sessions).toBeUndefined();
  await gateway.close();
});

test.each(["10.0.0.7", "ftp://10.0.0.7", "http://me:secret@10.0.0.7", "http://10.0.0.7/mcp"])(
  "refuses %s as an address",
  async (address) => {
    const made = Promise.resolve().then(() => replicas({ address }));
    expect((await catchFailure(made)).message).toContain("http://10.0.0.7:8080");
  },
);

describe.skipIf(!hasRedis)("what a server says (needs Redis)", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  test("to one replica reaches the others, and is there for one that starts later", async () => {
    const one = await openReplica(redis.url, server);
    await expect.poll(() => one.tools().length, { timeout: 20_000 }).toBeGreaterThan(3);
    await one.gateway.services.servers?.settled();
    const other = await openReplica(redis.url, server);
    await expect.poll(() => other.tools(), { timeout: 20_000 }).toContain("change");
    await other.gateway.services.servers?.settled();
    expect((await one.gateway.run({ tool: "s:change" })).ok).toBe(true);
    await expect
      .poll(() => one.tools().some((name) => name.startsWith("extra-")), { timeout: 20_000 })
      .toBe(true);
    await expect.poll(() => other.tools(), { timeout: 20_000 }).toEqual(one.tools());
    const late = await openReplica(redis.url, server);
    await expect.poll(() => late.tools(), { timeout: 20_000 }).toEqual(one.tools());
    for (const { errors } of [one, other, late]) expect(errors).toEqual([]);
  }, 90_000);

  test("is not taken by a replica with another server of the same name, and nonsense by none", async () => {
    const [one, other] = [
      await openReplica(redis.url, server),
      await openReplica(redis.url, { ...server, args: [...server.args, "another"] }),
    ];
    for (const each of [one, other]) {
      await expect.poll(() => each.tools().length, { timeout: 20_000 }).toBeGreaterThan(3);
      await each.gateway.services.servers?.settled();
    }
    const admin = new Redis(redis.url);
    onTestFinished(() => admin.disconnect());
    for (const nonsense of ["", "{", "null", '{"server":"s"}', '{"from":"x","server":"nobody","hash":"y"}'])
      await admin.publish("toolpipe:catalog", nonsense);
    const before = other.tools();
    await one.gateway.run({ tool: "s:change" });
    await expect.poll(() => one.tools().length, { timeout: 20_000 }).toBeGreaterThan(before.length);
    expect(other.tools()).toEqual(before);
    expect(other.errors).toEqual([]);
  }, 90_000);

  test("fault 59: while Redis was away is caught up on when it is back", async () => {
    const first = await startRedis();
    const [one, other] = [await openReplica(first.url, server), await openReplica(first.url, server)];
    for (const each of [one, other]) {
      await expect.poll(() => each.tools().length, { timeout: 20_000 }).toBeGreaterThan(3);
      await each.gateway.services.servers?.settled();
    }
    await first.stop();
    await one.gateway.run({ tool: "s:change" });
    await expect
      .poll(() => one.tools().some((name) => name.startsWith("extra-")), { timeout: 20_000 })
      .toBe(true);
    expect(other.tools()).not.toEqual(one.tools());
    const second = await startRedis("--port", String(first.port));
    onTestFinished(() => second.stop());
    await expect.poll(() => other.tools(), { timeout: 30_000 }).toEqual(one.tools());
  }, 120_000);
});
