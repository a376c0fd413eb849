import { describe, expect, test } from "vitest";
import { type Call, GatewayError, type JsonObject, type Plugin, textResult } from "../../../core/mod.ts";
import type { Client, Clients } from "../../../core/services/clients.ts";
import { createConfirmations } from "../../../plugins/guard/confirmation.ts";
import { type GuardOptions, requestMeta } from "../../../plugins/guard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { getError, readText } from "../../support/failure.ts";
import { lastingStore } from "../../support/services.ts";
import { testClock } from "./_clock.ts";
import { confirmed, type Guarded, keyed, openBank } from "./_guarded.ts";

const remove = { tool: "bank:delete_account", args: { amount: 1 } };
const withToken = (token: string, rest: JsonObject = {}): JsonObject => ({
  [requestMeta.confirmation]: token,
  ...rest,
});

/** The token that a refusal gives out. */
async function requestToken({ gateway }: Guarded, request: object = remove): Promise<string> {
  const error = getError(await gateway.run({ ...remove, ...request }));
  expect(error.code).toBe("CONFIRMATION_REQUIRED");
  return String(error.data["confirmation"]);
}

describe("fault 46: a confirmation token", () => {
  test("confirms the call that it was given out for, once", async () => {
    const bank = await openBank();
    const token = await requestToken(bank);
    expect(readText(await bank.gateway.run({ ...remove, meta: withToken(token) }))).toBe("done 1");
    const again = getError(await bank.gateway.run({ ...remove, meta: withToken(token) }));
    expect(again).toMatchObject({ code: "CONFIRMATION_INVALID", data: { suggestion: expect.any(String) } });
    expect(bank.effects).toHaveLength(1);
  });

  test("confirms no other arguments, no other actor and no other tool", async () => {
    const operations = { "bank:charge": { confirmation_required: true, idempotency_required: false } };
    const bank = await openBank({ guard: { operations } });
    const meta = withToken(await requestToken(bank));
    const others = [
      { ...remove, args: { amount: 2 }, meta },
      { ...remove, actor: { id: "ada", scopes: ["*"] }, meta },
      { ...remove, tool: "bank:charge", meta },
    ];
    for (const other of others)
      expect(getError(await bank.gateway.run(other)).code).toBe("CONFIRMATION_INVALID");
    expect(bank.effects).toEqual([]);
    expect((await bank.gateway.run({ ...remove, meta })).ok).toBe(true);
  });

  test("is too old after five minutes", async () => {
    const clock = testClock();
    const bank = await openBank({ guard: { clock } });
    const [early, late] = [await requestToken(bank), await requestToken(bank)];
    clock.pass(300_000 - 1);
    expect((await bank.gateway.run({ ...remove, meta: withToken(early) })).ok).toBe(true);
    clock.pass(1);
    expect(getError(await bank.gateway.run({ ...remove, meta: withToken(late) })).code).toBe(
      "CONFIRMATION_INVALID",
    );
  });

  test.each(["", "yes", "tc1.9999999999999.00.00", `tc1.9999999999999.${"0".repeat(32)}.${"0".repeat(64)}`])(
    "cannot be made up: %j",
    async (token) => {
      const { gateway, effects } = await openBank();
      expect(getError(await gateway.run({ ...remove, meta: withToken(token) })).code).toBe(
        "CONFIRMATION_INVALID",
      );
      expect(effects).toEqual([]);
    },
  );

  test("of many that use it at the same time, one does", async () => {
    const bank = await openBank();
    const meta = withToken(await requestToken(bank));
    const calls = await Promise.all(Array.from({ length: 10 }, () => bank.gateway.run({ ...remove, meta })));
    expect(calls.filter(({ ok }) => ok)).toHaveLength(1);
    expect(bank.effects).toHaveLength(1);
  });

  test("goes with a call that is repeated under its key, and with no other", async () => {
    const bank = await openBank();
    const token = await requestToken(bank);
    const request = { ...remove, meta: withToken(token, keyed("key-0001")) };
    expect(readText(await bank.gateway.run(request))).toBe("done 1");
    expect((await bank.gateway.run(request)).via).toBe("replay");
    const other = { ...remove, meta: withToken(token, keyed("key-0002")) };
    expect(getError(await bank.gateway.run(other)).code).toBe("CONFIRMATION_INVALID");
    expect(bank.effects).toHaveLength(1);
  });

  test("is as good as new where nothing was sent", async () => {
    const bank = await openBank({
      answer: (_args, count) => {
        if (count > 1) return textResult("done");
        throw new GatewayError("DENIED", "Not sent.", { data: { sent: false } });
      },
    });
    const meta = withToken(await requestToken(bank));
    expect((await bank.gateway.run({ ...remove, meta })).ok).toBe(false);
    expect((await bank.gateway.run({ ...remove, meta })).ok).toBe(true);
  });

  test("is known to every process that shares the state", async () => {
    const store = lastingStore();
    const [one, other] = [await openBank({ store: store }), await openBank({ store: store })];
    const meta = withToken(await requestToken(one));
    expect((await other.gateway.run({ ...remove, meta })).ok).toBe(true);
    expect((await one.gateway.run({ ...remove, meta })).ok).toBe(false);
  });

  test("that is too old is forgotten", async () => {
    const [store, clock] = [memoryStore(), testClock()];
    const confirmations = createConfirmations(store, { wall: clock.wall, ttlMs: 1_000 });
    const call = { actor: "a", tool: "t", definition: "d", args: "x" };
    const { token } = await confirmations.issue(call);
    expect(await confirmations.use(token, call, "p")).toBe(true);
    await confirmations.sweep();
    expect(await store.list("confirmations/")).toHaveLength(1);
    clock.pass(1_000);
    await confirmations.sweep();
    expect(await store.list("confirmations/")).toEqual([]);
    expect(await confirmations.use(token, call, "p")).toBe(false);
  });
});

test("where only tokens count, confirmed: true does not", async () => {
  const bank = await openBank({ guard: { confirmation: "token" } });
  const error = getError(await bank.gateway.run({ ...remove, meta: confirmed }));
  expect(error.code).toBe("CONFIRMATION_REQUIRED");
  expect(error.data["suggestion"]).not.toContain("confirmed: true");
  const meta = withToken(String(error.data["confirmation"]));
  expect((await bank.gateway.run({ ...remove, meta })).ok).toBe(true);
});

/** The answer of the user to an MCP elicitation. */
type ElicitAnswer = { readonly action: string; readonly content?: JsonObject };

/** A client whose person can be asked. */
function person(
  answer: (question: string) => ElicitAnswer | Promise<ElicitAnswer>,
  asked: string[] = [],
): Plugin {
  return {
    name: "person",
    provides: ["clients"],
    setup(gateway) {
      const client: Pick<Client, "can" | "ask"> = {
        can: (capability) => capability === "elicitation",
        async ask(_method, { message }) {
          asked.push(String(message));
          return answer(String(message));
        },
      };
      const get = (call: Call): unknown => (call.actor.id === "robot" ? undefined : client);
      gateway.provide("clients", { get } as Clients);
    },
  };
}

const yes = (): ElicitAnswer => ({ action: "accept", content: { confirm: true } });

describe("a user who can be asked", () => {
  test("is asked about this very call, and it is made if they agree", async () => {
    const asked: string[] = [];
    const { gateway, effects } = await openBank({ plugins: [person(yes, asked)] });
    expect(readText(await gateway.run(remove))).toBe("done 1");
    expect(asked).toEqual(['Shall "bank:delete_account" be called with {"amount":1}? It cannot be undone.']);
    expect(effects).toHaveLength(1);
  });

  test.each<ElicitAnswer>([
    { action: "decline" },
    { action: "cancel" },
    { action: "accept" },
    { action: "accept", content: { confirm: false } },
    { action: "accept", content: { confirm: "true" } },
  ])("did not agree: %j", async (answer) => {
    const { gateway, effects } = await openBank({ plugins: [person(() => answer)] });
    expect(getError(await gateway.run({ ...remove, meta: confirmed })).code).toBe("CONFIRMATION_DECLINED");
    expect(effects).toEqual([]);
  });

  test.each<[GuardOptions["confirmation"], JsonObject, number]>([
    ["ask", confirmed, 1],
    ["ask", {}, 1],
    ["flag", confirmed, 0],
    ["flag", {}, 1],
    ["token", confirmed, 1],
  ])("in the mode %s with %j is asked %i times", async (confirmation = "ask", meta, times) => {
    const asked: string[] = [];
    const { gateway } = await openBank({ guard: { confirmation }, plugins: [person(yes, asked)] });
    expect((await gateway.run({ ...remove, meta })).ok).toBe(true);
    expect(asked).toHaveLength(times);
  });

  test("is not asked about a call with wrong arguments", async () => {
    const asked: string[] = [];
    const { gateway } = await openBank({ plugins: [person(yes, asked)] });
    expect(getError(await gateway.run({ ...remove, args: {} })).code).toBe("INVALID_ARGUMENTS");
    expect(asked).toEqual([]);
  });

  test("is not asked where the client cannot; then `confirmed` counts", async () => {
    const robot = { id: "robot", scopes: ["*"] };
    const { gateway } = await openBank({ plugins: [person(() => ({ action: "decline" }))] });
    expect(getError(await gateway.run({ ...remove, actor: robot })).code).toBe("CONFIRMATION_REQUIRED");
    expect((await gateway.run({ ...remove, actor: robot, meta: confirmed })).ok).toBe(true);
  });

  test("sees no characters that hide something", async () => {
    const asked: string[] = [];
    const tools = [{ name: "delete_account", inputSchema: { type: "object" } }];
    const { gateway } = await openBank({ tools, plugins: [person(yes, asked)] });
    await gateway.run({ ...remove, args: { text: "a\u202eb\u200b" } });
    expect(asked[0]).toContain('{"text":"a\\u202eb\\u200b"}');
    expect(asked[0]).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test("fault 85: sees both ends of long arguments, and their size", async () => {
    const asked: string[] = [];
    const tools = [{ name: "delete_account", inputSchema: { type: "object" } }];
    const { gateway } = await openBank({ tools, plugins: [person(yes, asked)] });
    await gateway.run({ ...remove, args: { to: "me", text: "x".repeat(100_000), zz: "bcc: evil" } });
    expect(asked[0]).toContain('{"to":"me","text":"xxx');
    expect(asked[0]).toContain('xxx","zz":"bcc: evil"}');
    expect(asked[0]).toMatch(/ … \(\d+ of 100038 characters left out\) … /);
    expect((asked[0] ?? "").length).toBeLessThan(2_500);
  });

  test("agreed to the tool as it was: one that has changed meanwhile is not called", async () => {
    const inputSchema = { type: "object" };
    const bank: { now?: Guarded } = {};
    const asking = person(async () => {
      await bank.now?.gateway.catalog.replace({ id: "bank" }, [
        { name: "delete_account", description: "Deletes everything.", inputSchema },
      ]);
      return yes();
    });
    bank.now = await openBank({ plugins: [asking] });
    expect(getError(await bank.now.gateway.run(remove)).code).toBe("TOOL_CHANGED");
    expect(bank.now.effects).toEqual([]);
  });
});
