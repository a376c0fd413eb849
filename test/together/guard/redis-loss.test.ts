import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { definePlugin, type Gateway } from "../../../core/mod.ts";
import { audit } from "../../../plugins/audit/mod.ts";
import { type StateOptions, state } from "../../../plugins/state/mod.ts";
import { keyed, openBank } from "../../plugins/guard/_guarded.ts";
import { place } from "../../support/place.ts";
import { freePort, hasRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { runMain } from "../../support/run-cli.ts";
import { until } from "../../support/until.ts";

const FORGETFUL = ["--save", "", "--appendonly", "no"];

let home: string;
let project: string;
beforeEach(async () => {
  const made = await place();
  home = made.state;
  project = made.project;
});

async function start(...settings: readonly string[]): Promise<TestRedis> {
  const redis = await startRedis(...settings);
  onTestFinished(() => redis.stop());
  return redis;
}

/** A gateway of one machine, whose state folder is this one. */
async function machine(url: string, options: StateOptions = {}, folder = home) {
  process.env["TOOLPIPE_HOME"] = folder;
  const reports: string[] = [];
  const listening = definePlugin({
    name: "listening",
    setup: () => ({ error: ({ code }) => void reports.push(code) }),
  });
  const bank = await openBank({
    state: state({ state: url, timeoutMs: 5_000, ...options }),
    plugins: [listening(), audit({ file: join(folder, "audit.jsonl") })],
    guard: { scopes: { "*": ["*"] } },
  });
  const charge = (key: string): Promise<string> => run(bank.gateway, key);
  return { ...bank, reports, charge };
}

async function run(gateway: Gateway, key: string): Promise<string> {
  const call = await gateway.run({ tool: "bank:charge", args: { amount: 5 }, meta: keyed(key) });
  return call.ok ? (call.via ?? "ok") : call.error.code;
}

const keys = Array.from({ length: 20 }, (_, index) => `key-number-${index}`);

describe.skipIf(!hasRedis)("fault 98: Redis keeps nothing on a disk (needs Redis)", () => {
  test("calls that need a key are refused, reads are not, and the operator is told", async () => {
    const { url } = await start(...FORGETFUL);
    const { gateway, charge, effects, reports } = await machine(url);
    expect(reports).toEqual(["STATE_VOLATILE"]);
    for (const key of keys) expect(await charge(key)).toBe("STATE_VOLATILE");
    expect(effects).toEqual([]);
    expect((await gateway.run({ tool: "bank:get_balance" })).ok).toBe(true);
  });

  test("unless the config allows it: then it is a warning", async () => {
    const { url } = await start(...FORGETFUL);
    const { charge, reports } = await machine(url, { volatile: "allow" });
    expect(reports).toEqual(["STATE_VOLATILE"]);
    expect([await charge("key-number-1"), await charge("key-number-1")]).toEqual(["ok", "replay"]);
  });

  test.each([
    ["a log", ["--save", "", "--appendonly", "yes"]],
    ["snapshots", ["--save", "60 1", "--appendonly", "no"]],
  ])("with %s, calls are made", async (_, settings) => {
    const { url } = await start(...settings);
    const { charge, reports } = await machine(url);
    expect([await charge("key-number-1"), reports]).toEqual(["ok", []]);
  });

  test("nor is one that comes later, after the start", async () => {
    const port = await freePort();
    const { charge, effects, reports } = await machine(`redis://127.0.0.1:${port}`);
    expect(reports).toEqual(["STATE_UNAVAILABLE"]);
    await start("--port", String(port), ...FORGETFUL);
    const codes: string[] = [];
    await until(async () => {
      codes.push(await charge(`key-number-${codes.length}`));
      return codes.at(-1) === "STATE_VOLATILE";
    }, 30_000);
    expect(["STATE_UNAVAILABLE", "STATE_VOLATILE"]).toEqual(expect.arrayContaining([...new Set(codes)]));
    expect(effects).toEqual([]);
  });
});

describe.skipIf(!hasRedis)("fault 99: Redis has lost what was stored in it (needs Redis)", () => {
  async function writeConfig(url: string): Promise<string> {
    const file = join(project, "toolpipe.config.json");
    await writeFile(file, JSON.stringify({ preset: "gateway", state: { state: url, volatile: "allow" } }));
    return file;
  }

  test("after its restart: no key runs twice, until the loss is acknowledged", async () => {
    const redis = await startRedis(...FORGETFUL);
    const before = await machine(redis.url, { volatile: "allow" });
    for (const key of keys) expect(await before.charge(key)).toBe("ok");
    await before.gateway.close();
    const intents = (await readFile(join(home, "audit.jsonl"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === "intent");
    expect(new Set(intents.map(({ generation }) => generation))).toEqual(new Set([expect.any(String)]));
    await redis.stop();
    await start("--port", String(redis.port), ...FORGETFUL);

    const { charge, effects, reports, gateway } = await machine(redis.url, { volatile: "allow" });
    expect(reports).toEqual(["STATE_LOST"]);
    for (const key of keys) expect(await charge(key)).toBe("STATE_LOST");
    expect(effects).toEqual([]);
    expect((await gateway.run({ tool: "bank:get_balance" })).ok).toBe(true);

    const config = await writeConfig(redis.url);
    const { code, stdout } = await runMain(["state", "acknowledge", "--config", config]);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("✓ Acknowledged") });
    expect((await runMain(["state", "acknowledge", "--config", config])).stdout).toBe("Nothing was lost.\n");
    expect(await charge("key-number-new")).toBe("ok");
    expect(await charge("key-number-new")).toBe("replay");
  });

  test("as it was emptied while gateways run: all of them refuse, and one acknowledgment is enough", async () => {
    const { url } = await start();
    const admin = new Redis(url);
    onTestFinished(() => admin.disconnect());
    const machines = [];
    for (const name of ["a", "b", "c"]) machines.push(await machine(url, {}, join(home, name)));
    // The first begins the generation; the others have no copy of their own, and adopt it.
    for (const [index, each] of machines.entries())
      expect(await each.charge(`first-key-${index}`)).toBe("ok");
    await admin.flushall();
    for (const each of machines) {
      for (const key of keys) expect(await each.charge(key)).toBe("STATE_LOST");
      expect(each.effects.length).toBeLessThanOrEqual(2);
    }
    // A machine that knows nothing begins anew; those that know better go on refusing.
    expect(await (await machine(url, {}, join(home, "d"))).charge("key-number-1")).toBe("ok");
    for (const each of machines) expect(await each.charge("key-number-2")).toBe("STATE_LOST");
    expect(await machines[0]?.gateway.services.state?.acknowledge?.()).toBe(true);
    for (const each of machines) expect(await each.charge("key-number-1")).toBe("replay");
    expect(machines.map(({ reports }) => reports)).toEqual(machines.map(() => ["STATE_LOST"]));
  });

  test("and a copy here that is damaged does not pass for a first start", async () => {
    const { url } = await start();
    const { charge, gateway } = await machine(url);
    expect(await charge("key-number-1")).toBe("ok");
    await gateway.close();
    const folder = join(home, "state", "redis");
    for (const name of await readdir(folder)) await writeFile(join(folder, name), "?");
    expect(await (await machine(url)).charge("key-number-1")).toBe("replay");
    expect(await (await machine(url)).charge("key-number-2")).toBe("STATE_LOST");
  });
});
