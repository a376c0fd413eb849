import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../core/mod.ts";
import {
  type ChargeOrder,
  createParams,
  type Executed,
  openShop,
  type Running,
  type Shop,
} from "./_paystack.ts";
import { askModern, streamMessages } from "./plugins/serve/_http.ts";
import { startRedis, type TestRedis } from "./support/redis.ts";
import { roundRobin } from "./support/round-robin.ts";

/** Gateways as processes, each with a home of its own as if on a machine of its own, that share a Redis. */
export interface TestReplicas {
  readonly shop: Shop;
  readonly redis: TestRedis;
  readonly admin: Redis;
  readonly running: readonly Running[];
  /** The home folder of each replica. */
  readonly homes: readonly string[];
  /** The load balancer. */
  readonly url: string;
  /** Executes an operation on whichever of them is next; rejects where that ends meanwhile. */
  execute(tool: string, params: object, options?: object): Promise<Executed>;
  charge(order: ChargeOrder, key: string): Promise<Executed>;
}

const HOUR_MS = 3_600_000;

/** Opens replicas until the test is over. */
export async function openReplicas(count: number, more: Readonly<JsonObject> = {}): Promise<TestReplicas> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  const limits = {
    "*_low_risk": { limit: 10, perMs: HOUR_MS },
    "*_high_risk": { limit: 100_000, perMs: HOUR_MS },
  };
  const shop = await openShop({
    // On a busy machine it may take its time: these tests are not about that.
    state: { state: redis.url, timeoutMs: 20_000 },
    options: { rates: { limits } },
    ...more,
  });
  const homes = Array.from({ length: count }, (_, index) => join(shop.home, `machine-${index}`));
  for (const home of homes) await mkdir(home, { recursive: true });
  const running = await Promise.all(homes.map((home) => shop.open({ TOOLPIPE_HOME: home })));
  const url = `${await roundRobin(running.map(({ origin }) => origin))}/mcp`;
  const execute: TestReplicas["execute"] = async (tool_id, params, options = {}) => {
    const given = { name: "gateway.execute", arguments: { tool_id, params, options } };
    const response = await askModern(url, "tools/call", given);
    let last: JsonObject = {};
    for await (const message of streamMessages(response)) last = message;
    const { content } = last["result"] as { content: { text: string }[] };
    return JSON.parse(content[0]?.text ?? "") as Executed;
  };
  return {
    shop,
    redis,
    admin,
    running,
    homes,
    url,
    execute,
    charge: (order, idempotency_key) =>
      execute("paystack:charge-authorization", createParams(order), { idempotency_key }),
  };
}
