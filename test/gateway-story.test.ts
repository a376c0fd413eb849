import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type ChargeOrder,
  createParams,
  type Executed,
  openShop,
  type Running,
  type Shop,
} from "./_paystack.ts";
import { auditFolder, expectAudited, expectNoSecret } from "./_paystack-checks.ts";
import { nextMoment } from "./_paystack-moments.ts";
import { runCli } from "./support/run-cli.ts";

const CHARGE = "paystack:charge-authorization";
/** How often the gateway is killed, with several pending charges each time; `KILLS=200` takes minutes. */
const KILLS = Number(process.env["KILLS"] ?? 10);
/** How many charges those are. */
const AT_ONCE = 4;

test("an agent charges a saved card, once, and whatever it does wrong is refused before anything is charged", async () => {
  const shop = await openShop();
  const { ledger } = shop;
  const gateway = await shop.open();
  const { tools } = await gateway.client.listTools();
  expect(tools).toHaveLength(5);

  const found = await gateway.call("gateway.intent", { query: "charge a saved card in Nigeria" });
  expect(found).toMatchObject({
    recommended: { tool_id: CHARGE, adapter: "paystack", tool: "charge-authorization" },
    ready_to_execute: {
      tool_id: CHARGE,
      required_params: ["email", "amount", "authorization_code"],
      example: {
        email: expect.any(String),
        amount: expect.any(Number),
        authorization_code: expect.any(String),
      },
      constraints: { risk_level: "high", requires_idempotency: true, requires_confirmation: false },
    },
    next_step: expect.stringContaining("idempotency_key"),
  });

  const order: ChargeOrder = { order: "shoes" };
  const key = "order-shoes-1";
  expect(await gateway.charge(order)).toMatchObject({
    success: false,
    error: {
      code: "IDEMPOTENCY_REQUIRED",
      risk_level: "high",
      suggestion: expect.stringContaining("idempotency_key"),
    },
  });
  const { email: _, ...incomplete } = createParams(order);
  const options = { idempotency_key: key };
  expect(await gateway.execute(CHARGE, incomplete, options)).toMatchObject({
    error: { code: "INVALID_ARGUMENTS" },
  });
  const preview = await gateway.execute(CHARGE, createParams(order), { dry_run: true });
  expect(preview).toMatchObject({
    success: true,
    data: {
      dry_run: true,
      request: {
        method: "POST",
        url: `${ledger.url}/transaction/charge_authorization`,
        headers: { authorization: "Bearer ***" },
        body: createParams(order),
      },
    },
    meta: { via: "dry run" },
  });
  expect(await ledger.entries(), "nothing has left the gateway so far").toEqual([]);

  const done = await gateway.charge(order, key);
  expect(done).toMatchObject({
    success: true,
    tool_id: CHARGE,
    data: { status: true, message: "Charge attempted", data: { status: "success", amount: 500_000 } },
    meta: { adapter: "paystack", operation: { risk_level: "high", reversible: false, category: "payments" } },
  });
  expect(await gateway.charge(order, key)).toMatchObject({
    success: true,
    data: done.data,
    meta: { via: "replay" },
  });
  expect(await gateway.charge({ ...order, amount: 900_000 }, key)).toMatchObject({
    success: false,
    error: { code: "IDEMPOTENCY_MISMATCH" },
  });
  expect((await ledger.entries()).map(({ event }) => event)).toEqual(["received", "charged"]);

  const { reference } = (done.data as { data: { reference: string } }).data;
  expect(await gateway.execute("paystack:verify-transaction", { reference })).toMatchObject({
    success: true,
    data: { data: { reference, amount: 500_000 } },
    meta: { operation: { risk_level: "low" } },
  });

  await expectNoSecret(shop);
  await expectAudited(shop, [order]);
  const verified = await runCli(
    [
      "audit",
      "verify",
      "--json",
      "--folder",
      auditFolder(shop),
      "--key",
      join(shop.home, "state", "audit.key"),
    ],
    {
      cwd: shop.home,
    },
  );
  expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([0, { valid: true }]);
}, 60_000);

test("a card that is declined, a parameter the API refuses and a wrong secret are told as they are, and charge nothing", async () => {
  const shop = await openShop();
  const [gateway, stranger] = await Promise.all([
    shop.open(),
    shop.open({ PAYSTACK_SECRET_KEY: "sk_wrong" }),
  ]);
  const params = createParams({ order: "hat" });
  const charge = (more: object, idempotency_key: string): Promise<Executed> =>
    gateway.execute(CHARGE, { ...params, ...more }, { idempotency_key });
  expect(await charge({ authorization_code: "AUTH_declined" }, "order-hat-1")).toMatchObject({
    success: true,
    data: { data: { status: "failed", gateway_response: "Declined" } },
  });
  const refused = await charge({ amount: 0 }, "order-hat-2");
  expect(refused).toMatchObject({
    success: false,
    error: { code: "TOOL_ERROR", status: 400, message: expect.stringContaining("Invalid Amount Sent") },
  });
  // It is the answer to this very call, so that it is the answer to its repetition.
  expect(await charge({ amount: 0 }, "order-hat-2")).toMatchObject({
    success: false,
    data: refused.data,
    meta: { via: "replay" },
  });
  expect(await stranger.charge({ order: "hat" }, "order-hat-3")).toMatchObject({
    success: false,
    error: { code: "TOOL_ERROR", status: 401, message: expect.stringContaining("Invalid key") },
  });
  expect((await shop.ledger.entries()).map(({ event }) => event)).toEqual([
    "received",
    "declined",
    "received",
  ]);
  await expectNoSecret(shop);
}, 60_000);

test("runs a destructive call only after the user confirmed it", async () => {
  const shop = await openShop();
  const gateway = await shop.open();
  const remove = (options?: object): Promise<Executed> =>
    gateway.execute("paystack:delete-transfer-recipient", { code: "RCP_5ap8rcimmcj8lbi" }, options);
  const refused = await remove();
  expect(refused).toMatchObject({
    success: false,
    error: {
      code: "CONFIRMATION_REQUIRED",
      risk_level: "destructive",
      suggestion: expect.stringContaining("confirmed: true"),
    },
  });
  expect(await shop.ledger.entries()).toEqual([]);
  expect(await remove({ confirmed: true })).toMatchObject({ success: true });

  // The token of a refusal is for the call that was refused, and for one time.
  const { confirmation } = (refused.error?.["details"] ?? {}) as { confirmation?: string };
  const other = { code: "RCP_another" };
  expect(await gateway.execute("paystack:delete-transfer-recipient", other, { confirmation })).toMatchObject({
    error: { code: "CONFIRMATION_INVALID" },
  });
  expect(await shop.ledger.entries()).toEqual([{ event: "deleted", recipient: "RCP_5ap8rcimmcj8lbi" }]);
}, 60_000);

test("a program without MCP charges over REST, under the header Idempotency-Key", async () => {
  const shop = await openShop();
  const { origin, charge } = await shop.open();
  const order: ChargeOrder = { order: "coat" };
  const post = async (key?: string, more: object = {}): Promise<{ status: number; body: Executed }> => {
    const response = await fetch(`${origin}/api/adapters/paystack/tools/charge-authorization`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) },
      body: JSON.stringify({ ...createParams(order), ...more }),
    });
    return { status: response.status, body: (await response.json()) as Executed };
  };
  expect(await post()).toMatchObject({ status: 400, body: { error: { code: "IDEMPOTENCY_REQUIRED" } } });
  const { status, body } = await post("order-coat-1");
  expect([status, body]).toMatchObject([200, { success: true, tool_id: CHARGE }]);
  expect(await post("order-coat-1")).toMatchObject({
    status: 200,
    body: { data: body.data, meta: { via: "replay" } },
  });
  expect(await post("order-coat-1", { amount: 1 })).toMatchObject({
    status: 422,
    body: { error: { code: "IDEMPOTENCY_MISMATCH" } },
  });
  expect(await charge(order, "order-coat-1"), "over MCP it is the same call").toMatchObject({
    data: body.data,
    meta: { via: "replay" },
  });
  expect(await shop.ledger.chargesOf("coat")).toBe(1);
  await expectNoSecret(shop);
  await expectAudited(shop, [order]);
}, 60_000);

test("of a hundred calls under one key, through two gateways at the same time, one is made", async () => {
  const shop = await openShop();
  const gateways = await Promise.all([shop.open(), shop.open()]);
  const order: ChargeOrder = { order: "lamp", after_ms: 100 };
  const key = "order-lamp-1";
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (gateways[index % 2] as Running).charge(order, key)),
  );
  expect(await shop.ledger.chargesOf("lamp")).toBe(1);
  const kinds = answers.map(({ meta, error }) => error?.code ?? meta?.via ?? "done");
  expect(kinds.filter((kind) => kind === "done")).toHaveLength(1);
  expect(["done", "replay", "IN_PROGRESS"]).toEqual(expect.arrayContaining([...new Set(kinds)]));
  const [done] = answers.filter(({ success, meta }) => success && meta?.via === undefined);
  for (const gateway of gateways) {
    expect(await gateway.charge(order, key)).toMatchObject({ data: done?.data, meta: { via: "replay" } });
  }
  expect(await shop.ledger.chargesOf("lamp")).toBe(1);
  await expectAudited(shop, [order]);
}, 60_000);

describe("a gateway that is killed", () => {
  test("at each boundary of a charge leaves its key done, unused or unknown, and nothing is charged twice", async () => {
    const shop = await openShop();
    const { ledger } = shop;
    const killed = await shop.open();
    const answered: ChargeOrder = { order: "answered" };
    const uncharged: ChargeOrder = { order: "uncharged", hold: "charge" };
    const unanswered: ChargeOrder = { order: "unanswered", hold: "answer" };
    const unsent: ChargeOrder = { order: "unsent" };
    const cutOff: ChargeOrder = { order: "cut-off", drop: "charge" };
    const cutShort: ChargeOrder = { order: "cut-short", drop: "answer" };
    const unknown = {
      success: false,
      error: { code: "OUTCOME_UNKNOWN", retryable: false, suggestion: expect.stringContaining("Find out") },
    };
    const done = await killed.charge(answered, createKey(answered));
    for (const order of [cutOff, cutShort]) {
      expect(await killed.charge(order, createKey(order)), "a lost connection is one, too").toMatchObject(
        unknown,
      );
    }
    const lost = [uncharged, unanswered].map((order) =>
      killed.charge(order, createKey(order)).catch(() => undefined),
    );
    await ledger.until("received", ["uncharged"]);
    await ledger.until("charged", ["unanswered"]);
    expect(await ledger.chargesOf("uncharged")).toBe(0);
    await killed.kill();
    expect(await Promise.all(lost)).toEqual([undefined, undefined]);
    // The request had been sent: a caller that stops waiting does not keep the bank from charging the card.
    await ledger.until("charged", ["uncharged"]);

    const gateway = await shop.open();
    expect(await gateway.charge(answered, createKey(answered))).toMatchObject({
      data: done.data,
      meta: { via: "replay" },
    });
    for (const order of [uncharged, unanswered, cutOff, cutShort, uncharged]) {
      expect(await gateway.charge(order, createKey(order))).toMatchObject(unknown);
    }
    expect(await gateway.charge({ ...unanswered, amount: 1 }, createKey(unanswered))).toMatchObject({
      error: { code: "IDEMPOTENCY_MISMATCH" },
    });
    const fresh = await gateway.charge(unsent, createKey(unsent));
    expect([fresh.success, fresh.meta?.via]).toEqual([true, undefined]);
    for (const { order } of [answered, uncharged, unanswered, unsent, cutShort]) {
      expect(await ledger.chargesOf(order), order).toBe(1);
    }
    expect(await ledger.chargesOf("cut-off")).toBe(0);
    // An unknown outcome can be looked up, as the refusal explains.
    const list = await gateway.execute("paystack:list-transactions", {});
    expect((list.data as { data: unknown[] }).data).toHaveLength(5);
    await expectNoSecret(shop);
    await expectAudited(shop, [answered, uncharged, unanswered, unsent, cutOff, cutShort]);
  }, 60_000);

  test(
    `${KILLS} times at any moment charges nothing twice and loses nothing silently`,
    async () => {
      const shop = await openShop();
      const { ledger } = shop;
      const last = new Map<ChargeOrder, Executed>();
      let gateway = await shop.open();
      for (let round = 0; round < KILLS; round++) {
        const orders = Array.from(
          { length: AT_ONCE },
          (_, index): ChargeOrder => ({
            order: `${round}-${index}`,
            before_ms: Math.floor(Math.random() * 8),
            after_ms: Math.floor(Math.random() * 8),
          }),
        );
        const isTime = await nextMoment(round, shop);
        const calls = orders.map((order) => gateway.charge(order, createKey(order)));
        const settled = Promise.allSettled(calls);
        await isTime(orders, calls);
        await gateway.kill();
        const before = await settled;
        gateway = await shop.open();
        const after = await Promise.all(orders.map((order) => gateway.charge(order, createKey(order))));
        for (const [index, order] of orders.entries()) {
          const call = before[index];
          const answer = after[index] as Executed;
          last.set(order, answer);
          const charges = await ledger.chargesOf(order.order);
          const seen = JSON.stringify({ order, call, answer, charges });
          if (answer.success) expect(charges, seen).toBe(1);
          else expect([answer.error?.code, charges <= 1], seen).toEqual(["OUTCOME_UNKNOWN", true]);
          if (call?.status !== "fulfilled") continue;
          expect(call.value.success, seen).toBe(true);
          expect(answer, seen).toMatchObject({ data: call.value.data, meta: { via: "replay" } });
        }
      }
      // The ledger has charged all that it had received; done and unknown outcomes do not change.
      await expect.poll(() => readPending(shop), { timeout: 15_000 }).toEqual([]);
      for (const [order, answer] of last) {
        const again = await gateway.charge(order, createKey(order));
        const seen = JSON.stringify({ order, answer, again });
        expect([again.success, again.error?.code], seen).toEqual([answer.success, answer.error?.code]);
        if (again.success) expect([again.data, again.meta?.via], seen).toEqual([answer.data, "replay"]);
        expect(await ledger.chargesOf(order.order), seen).toBeLessThanOrEqual(1);
      }
      expect(last.size).toBe(KILLS * AT_ONCE);
      await expectNoSecret(shop);
      await expectAudited(shop, [...last.keys()]);
    },
    60_000 + KILLS * 10_000,
  );
});

/** The orders that the ledger has received and not charged. */
async function readPending({ ledger }: Shop): Promise<readonly unknown[]> {
  const entries = await ledger.entries();
  const charged = new Set(entries.flatMap(({ event, order }) => (event === "charged" ? [order] : [])));
  return entries.filter(({ event, order }) => event === "received" && !charged.has(order));
}

function createKey({ order }: ChargeOrder): string {
  return `key-for-${order}`;
}
