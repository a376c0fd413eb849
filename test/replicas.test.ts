import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { installationKey } from "../plugins/audit/key.ts";
import { verifyAudit } from "../plugins/audit/mod.ts";
import type { ChargeOrder, Executed } from "./_paystack.ts";
import { openReplicas, type TestReplicas } from "./_replicas.ts";
import { hasRedis } from "./support/redis.ts";

const REPLICAS = 3;

describe.skipIf(!hasRedis)("three replicas behind a round robin (needs Redis)", { timeout: 240_000 }, () => {
  test("a hundred executions at once under one key have one effect, and all learn of it", async () => {
    const { charge, shop } = await openReplicas(REPLICAS);
    const order = { order: "shoes", before_ms: 50 };
    const first = await Promise.all(Array.from({ length: 100 }, () => charge(order, "key-of-shoes")));
    const codes = new Set(first.map(({ success, error }) => (success ? "ok" : error?.code)));
    expect([...codes].filter((code) => code !== "ok" && code !== "IN_PROGRESS")).toEqual([]);
    expect(first.some(({ success }) => success)).toBe(true);
    const again = await Promise.all(Array.from({ length: REPLICAS }, () => charge(order, "key-of-shoes")));
    const [done] = first.filter(({ success }) => success);
    for (const each of again) expect(each).toMatchObject({ data: done?.data, meta: { via: "replay" } });
    expect((await shop.ledger.entries()).map(({ event }) => event)).toEqual(["received", "charged"]);
  });

  test("a limit holds for all of them together, to the request", async () => {
    const { execute } = await openReplicas(REPLICAS);
    const calls = await Promise.all(
      Array.from({ length: 30 }, () => execute("paystack:list-transactions", {})),
    );
    expect(calls.filter(({ success }) => success)).toHaveLength(10);
    expect(calls.filter(({ error }) => error?.code === "RATE_LIMITED")).toHaveLength(20);
  });

  test("one that is killed in the middle loses no confirmed key or record", async () => {
    const replicas = await openReplicas(REPLICAS);
    const { charge, running, shop } = replicas;
    const orders: ChargeOrder[] = Array.from({ length: 60 }, (_, index) => ({
      order: `order-${index}`,
      before_ms: index % 7,
      after_ms: index % 5,
    }));
    const createKey = ({ order }: ChargeOrder): string => `key-of-${order}`;
    const told = new Map<string, Executed>();
    const lane = async (mine: readonly ChargeOrder[]): Promise<void> => {
      for (const order of mine) {
        const answer = await charge(order, createKey(order)).catch(() => undefined);
        if (answer?.success) told.set(order.order, answer);
        if (told.size === 20) await running[0]?.kill();
      }
    };
    await Promise.all([0, 1, 2, 3].map((n) => lane(orders.filter((_, index) => index % 4 === n))));
    expect(told.size).toBeGreaterThan(40);

    const recorded = await readRecorded(replicas);
    for (const order of orders) {
      const again = await charge(order, createKey(order));
      const answer = told.get(order.order);
      if (answer) {
        expect(again).toMatchObject({ success: true, data: answer.data, meta: { via: "replay" } });
        expect(recorded(answer), order.order).toEqual(["intent", "outcome"]);
      } else if (!again.success) {
        expect(["IN_PROGRESS", "OUTCOME_UNKNOWN"]).toContain(again.error?.code);
      }
      const charges = await shop.ledger.chargesOf(order.order);
      expect(charges, order.order).toBeLessThanOrEqual(1);
      if (answer) expect(charges).toBe(1);
    }
  });

  test("a modern client continues when its replica ends, and a legacy client after a new session", async () => {
    const { running, url, admin } = await openReplicas(REPLICAS);
    const modern = new ModernClient(
      { name: "modern", version: "1.0.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    onTestFinished(() => modern.close());
    await modern.connect(new StreamableHTTPClientTransport(new URL(url)));
    const legacy = await beginLegacy(url);
    const call = { name: "gateway.adapters", arguments: {} };
    for (let index = 0; index < REPLICAS + 1; index++) {
      expect((await modern.callTool(call)).isError).toBeFalsy();
      // Any replica forwards it to the replica that has the session.
      expect((await legacy.client.callTool(call)).isError).toBeFalsy();
    }

    const home = await admin.get(`toolpipe:session:${legacy.session()}`);
    const address = await admin.get(`toolpipe:replica:${home}`);
    await running.find(({ origin }) => origin === address)?.kill();
    for (let index = 0; index < REPLICAS; index++) {
      expect((await modern.callTool(call)).isError).toBeFalsy();
    }
    await expect(legacy.client.callTool(call)).rejects.toThrow(/404|no such session/i);
    const renewed = await beginLegacy(url);
    for (let index = 0; index < REPLICAS; index++) {
      expect((await renewed.client.callTool(call)).isError).toBeFalsy();
    }
  });
});

async function beginLegacy(
  url: string,
): Promise<{ readonly client: LegacyClient; readonly session: () => string | undefined }> {
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
  const transport = new LegacyTransport(new URL(url));
  onTestFinished(() => client.close());
  // Its types do not go with the strictest settings.
  await client.connect(transport as Parameters<LegacyClient["connect"]>[0]);
  return { client, session: () => transport.sessionId };
}

/** Reads the audit records of all replicas. Every record must be complete. */
async function readRecorded({ homes }: TestReplicas): Promise<(answer: Executed) => string[]> {
  const events = new Map<unknown, string[]>();
  for (const home of homes) {
    const folder = join(home, "state", "audit");
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".jsonl"));
    const files = names.map((name) => join(folder, name));
    expect(
      (await verifyAudit(files, [], { key: installationKey(join(home, "state", "audit.key")) })).filter(
        ({ fault }) => fault,
      ),
    ).toEqual([]);
    for (const file of files) {
      for (const line of (await readFile(file, "utf8")).split("\n").filter(Boolean)) {
        const { event, request_id: id } = JSON.parse(line) as { event: string; request_id: string };
        events.set(id, [...(events.get(id) ?? []), event]);
      }
    }
  }
  return ({ meta }) => events.get(meta?.["request_id"]) ?? [];
}
