import { describe, expect, test } from "vitest";
import { GatewayError, type JsonObject, type ToolResult, textResult } from "../../../core/mod.ts";
import { UPSTREAM_CLOSED, UPSTREAM_ERROR } from "../../../core/services/servers.ts";
import { STATE_UNAVAILABLE } from "../../../core/services/state.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { getError, readText } from "../../support/failure.ts";
import { deferred, plugin } from "../../support/hooks.ts";
import { endCalls, lastingStore } from "../../support/services.ts";
import { testClock } from "./_clock.ts";
import { type Guarded, keyed, openBank } from "./_guarded.ts";

const meta = keyed("key-0001");
const charge = { tool: "bank:charge", args: { amount: 5 }, meta };

/** Returns a result without the mark that it was replayed. */
function unmarked({ _meta, ...rest }: ToolResult): ToolResult {
  const { replayed, ...others } = (_meta ?? {}) as JsonObject;
  expect(replayed).toBe(true);
  return Object.keys(others).length > 0 ? { ...rest, _meta: others } : rest;
}

describe("fault 37: the same call under the same key", () => {
  test.each<[string, ToolResult]>([
    ["a text", textResult("paid \ud83d\ude00\u2028")],
    ["a failure of the tool", { ...textResult("No money."), isError: true }],
    [
      "structure",
      { content: [], structuredContent: { b: [1.5, null], a: { __x: "" } }, _meta: { trace: "t" } },
    ],
    ["keys in their order", { content: [{ type: "text", z: 1, a: 2, text: "" }] }],
  ])("is done once and answered to the letter: %s", async (_name, result) => {
    const { gateway, effects } = await openBank({ answer: () => result });
    const first = await gateway.run(charge);
    const second = await gateway.run(charge);
    expect(second).toMatchObject({ ok: true, via: "replay" });
    expect(JSON.stringify(unmarked(second.result as ToolResult))).toBe(JSON.stringify(first.result));
    expect(effects).toHaveLength(1);
  });

  test("is answered with the same error, where its server answered with one", async () => {
    const { gateway, effects } = await openBank({
      answer: () => {
        throw new GatewayError(UPSTREAM_ERROR, "The server answered with an error.", {
          data: { rpcCode: -32000 },
        });
      },
    });
    const first = getError(await gateway.run(charge));
    const second = await gateway.run(charge);
    expect(second.via).toBe("replay");
    expect(getError(second)).toMatchObject({ code: first.code, message: first.message, kind: first.kind });
    expect(getError(second).data).toEqual({ ...first.data, replayed: true });
    expect(effects).toHaveLength(1);
  });

  test("the order in which arguments are written does not matter", async () => {
    const tools = [{ name: "charge", inputSchema: { type: "object" } }];
    const { gateway, effects } = await openBank({ tools });
    await gateway.run({ ...charge, args: { a: 1, b: { c: 2, d: 3 } } });
    expect((await gateway.run({ ...charge, args: { b: { d: 3, c: 2 }, a: 1 } })).via).toBe("replay");
    expect(effects).toHaveLength(1);
  });

  test("survives a restart", async () => {
    const store = lastingStore();
    const first = await openBank({ store: store });
    await first.gateway.run(charge);
    await first.gateway.close();
    const second = await openBank({ store: store });
    expect((await second.gateway.run(charge)).via).toBe("replay");
    expect(second.effects).toEqual([]);
  });
});

describe("fault 38: the same key", () => {
  test("for other arguments or another tool is refused", async () => {
    const { gateway, effects } = await openBank();
    await gateway.run(charge);
    for (const other of [
      { ...charge, args: { amount: 6 } },
      { ...charge, tool: "bank:refund" },
    ]) {
      expect(getError(await gateway.run(other))).toMatchObject({
        code: "IDEMPOTENCY_MISMATCH",
        data: { safe_new_key: true },
      });
    }
    expect(effects).toHaveLength(1);
  });

  test("of another actor is another key, which no other actor sees", async () => {
    const { gateway, effects } = await openBank();
    await gateway.run(charge);
    const call = await gateway.run({ ...charge, args: { amount: 9 }, actor: { id: "ada", scopes: ["*"] } });
    expect(readText(call)).toBe("done 2");
    expect(effects).toEqual([{ amount: 5 }, { amount: 9 }]);
  });
});

describe("fault 39: a hundred calls under one key at the same time", () => {
  /** Makes them, lets the one that is made go on once the others have been answered, and says what came of them. */
  async function hundred(count: number): Promise<{ codes: string[]; effects: number }> {
    const store = lastingStore();
    const gate = deferred();
    const answer = (): Promise<ToolResult> => gate.promise.then(() => textResult("paid"));
    const open = (): Promise<Guarded> => openBank({ store: store, answer });
    const banks = await Promise.all(Array.from({ length: count }, open));
    let refused = 0;
    const codes = Array.from({ length: 100 }, async (_, index) => {
      const call = await (banks[index % count] as Guarded).gateway.run(charge);
      if (call.ok) return call.via ?? "done";
      refused++;
      if (refused === 99) gate.resolve();
      return call.error.code;
    });
    return { codes: await Promise.all(codes), effects: banks.flatMap(({ effects }) => effects).length };
  }

  test.each([1, 4])(
    "one is made, and 99 are told that it is running: %i gateways on one folder",
    {
      timeout: 60_000,
    },
    async (count) => {
      const { codes, effects } = await hundred(count);
      expect(codes.filter((code) => code === "done")).toHaveLength(1);
      expect(codes.filter((code) => code === "IN_PROGRESS")).toHaveLength(99);
      expect(effects).toBe(1);
    },
  );
});

describe("fault 40: a call that ends without an answer", () => {
  test("is unknown where it may have been sent, and is never made again under its key", async () => {
    const { gateway, effects } = await openBank({
      answer: () => {
        throw new GatewayError(UPSTREAM_CLOSED, "The connection ended.");
      },
    });
    const first = getError(await gateway.run(charge));
    expect(first).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: {
        reason: "UPSTREAM_CLOSED",
        safe_new_key: false,
        suggestion: expect.stringContaining("Find out"),
      },
    });
    expect(getError(await gateway.run(charge)).code).toBe("OUTCOME_UNKNOWN");
    expect(effects).toHaveLength(1);
  });

  test("leaves the key free where nothing was sent", async () => {
    const { gateway, effects } = await openBank({
      answer: (_args, count) => {
        if (count > 1) return textResult("paid");
        throw new GatewayError(UPSTREAM_CLOSED, "No connection.", { data: { sent: false } });
      },
    });
    expect(getError(await gateway.run(charge)).code).toBe("UPSTREAM_CLOSED");
    expect(readText(await gateway.run(charge))).toBe("paid");
    expect(effects).toHaveLength(2);
  });

  test("leaves the key free where another plugin refused it before it was made", async () => {
    let isRefusing = true;
    const refusing = plugin("refusing", {
      execute(_call, next) {
        if (isRefusing) throw new GatewayError("DENIED", "No audit, no execution.");
        return next();
      },
    });
    const { gateway, effects } = await openBank({ plugins: [refusing] });
    expect(getError(await gateway.run(charge)).code).toBe("DENIED");
    isRefusing = false;
    expect(readText(await gateway.run(charge))).toBe("done 1");
    expect(effects).toHaveLength(1);
  });

  test("is unknown where something unforeseen failed", async () => {
    const { gateway } = await openBank({
      answer: () => {
        throw new TypeError("secret");
      },
    });
    const error = getError(await gateway.run(charge));
    expect(error.code).toBe("OUTCOME_UNKNOWN");
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  test("a call that timed out is running until it ends, and then replayed", async () => {
    const gate = deferred();
    const { gateway, effects, store } = await openBank({
      plugins: [endCalls(20)],
      answer: () => gate.promise.then(() => textResult("late")),
    });
    expect(getError(await gateway.run(charge)).code).toBe("TIMEOUT");
    expect(getError(await gateway.run(charge)).code).toBe("IN_PROGRESS");
    gate.resolve();
    await expect.poll(async () => (await store.list("idempotency/"))[0]?.value["state"]).toBe("completed");
    expect(readText(await gateway.run(charge))).toBe("late");
    expect(effects).toHaveLength(1);
  });

  test("a gateway that closes waits until the outcome of a cancelled call is stored", async () => {
    const { gateway, store } = await openBank({
      plugins: [endCalls(10)],
      answer: () => new Promise((resolve) => setTimeout(() => resolve(textResult("late")), 50)),
    });
    expect(getError(await gateway.run(charge)).code).toBe("TIMEOUT");
    await gateway.close();
    expect((await store.list("idempotency/"))[0]?.value["state"]).toBe("completed");
  });

  test("a result is returned even where it cannot be stored, and the call never runs again", async () => {
    const inner = { ...memoryStore(), volatile: false };
    let isFull = false;
    const store = {
      ...inner,
      replace: (...given: Parameters<typeof inner.replace>) =>
        isFull
          ? Promise.reject(new GatewayError(STATE_UNAVAILABLE, "The disk is full."))
          : inner.replace(...given),
    };
    const reported: string[] = [];
    const listening = plugin("listening", { error: ({ code }) => void reported.push(code) });
    const { gateway, effects } = await openBank({
      store,
      plugins: [listening],
      answer: () => {
        isFull = true;
        return textResult("paid");
      },
    });
    expect(readText(await gateway.run(charge))).toBe("paid");
    expect(reported).toEqual(["STATE_UNAVAILABLE"]);
    isFull = false;
    expect(getError(await gateway.run(charge)).code).toBe("IN_PROGRESS");
    expect(effects).toHaveLength(1);
  });

  test("that it is unknown is told even where that cannot be written down", async () => {
    const inner = { ...memoryStore(), volatile: false };
    const full = (): Promise<never> =>
      Promise.reject(new GatewayError(STATE_UNAVAILABLE, "The disk is full."));
    const { gateway, effects } = await openBank({
      store: { ...inner, replace: full },
      answer: () => {
        throw new GatewayError(UPSTREAM_CLOSED, "The connection ended.");
      },
    });
    expect(getError(await gateway.run(charge)).code).toBe("OUTCOME_UNKNOWN");
    expect(getError(await gateway.run(charge)).code).toBe("IN_PROGRESS");
    expect(effects).toHaveLength(1);
  });

  test("a call whose intent cannot be stored does not begin", async () => {
    const full = (): Promise<never> =>
      Promise.reject(new GatewayError(STATE_UNAVAILABLE, "The disk is full."));
    const { gateway, effects } = await openBank({
      store: { ...memoryStore(), volatile: false, setIfAbsent: full },
    });
    expect(getError(await gateway.run(charge)).code).toBe("STATE_UNAVAILABLE");
    expect(effects).toEqual([]);
  });
});

test("fault 41: a call that is wrong or not allowed does not use up its key", async () => {
  const { gateway, effects } = await openBank();
  const wrong = { ...charge, args: { amount: "5" } };
  expect(getError(await gateway.run(wrong)).code).toBe("INVALID_ARGUMENTS");
  expect(getError(await gateway.run({ ...charge, tool: "bank:none" })).code).toBe("TOOL_NOT_FOUND");
  expect(readText(await gateway.run(charge))).toBe("done 1");
  expect(effects).toHaveLength(1);
});

test("fault 42: of a result that is too large, its hash is kept; it is never made again", async () => {
  const large = textResult("x".repeat(5_000));
  const { gateway, effects } = await openBank({ answer: () => large, guard: { maxResultBytes: 4_000 } });
  expect((await gateway.run(charge)).result).toEqual(large);
  const again = await gateway.run(charge);
  expect(again).toMatchObject({ ok: true, via: "replay" });
  expect(again.result?._meta).toMatchObject({
    replayed: true,
    truncated: true,
    bytes: JSON.stringify(large).length,
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(readText(again)).toContain("too large to be stored");
  expect(effects).toHaveLength(1);
});

test("fault 43: after 24 hours the key is free, and not a moment before", async () => {
  const clock = testClock();
  const { gateway, effects } = await openBank({ guard: { clock } });
  await gateway.run(charge);
  clock.pass(86_400_000 - 1);
  expect((await gateway.run(charge)).via).toBe("replay");
  clock.pass(1);
  expect(readText(await gateway.run(charge))).toBe("done 2");
  expect(effects).toHaveLength(2);
});

describe("a call after one with an unknown outcome", () => {
  const failOnce = (_args: JsonObject, count: number): ToolResult => {
    if (count > 1) return textResult("paid");
    throw new GatewayError(UPSTREAM_CLOSED, "The connection ended.");
  };

  test("is made again where an operator has said that it is safe", async () => {
    const operations = { "bank:charge": { retry_safe: true } };
    const { gateway, effects } = await openBank({ answer: failOnce, guard: { operations } });
    expect(getError(await gateway.run(charge)).code).toBe("OUTCOME_UNKNOWN");
    expect(readText(await gateway.run(charge))).toBe("paid");
    expect(effects).toHaveLength(2);
  });

  test("is not made again because its server reports that it is idempotent", async () => {
    const inputSchema = { type: "object" };
    const tools = [{ name: "charge", inputSchema, annotations: { idempotentHint: true } }];
    const { gateway, effects } = await openBank({ answer: failOnce, tools });
    await gateway.run(charge);
    expect(getError(await gateway.run(charge)).code).toBe("OUTCOME_UNKNOWN");
    expect(effects).toHaveLength(1);
  });
});

test("a key is honoured wherever something changes, and has no meaning where something is only read", async () => {
  const { gateway, effects } = await openBank();
  for (const tool of ["bank:create_note", "bank:get_balance"]) {
    await gateway.run({ tool, meta: keyed(`key for ${tool}`.replaceAll(" ", "-")) });
    await gateway.run({ tool, meta: keyed(`key for ${tool}`.replaceAll(" ", "-")) });
  }
  expect(effects).toHaveLength(3);
});

test("a key is honoured where a config asks for it, though the tool only reads", async () => {
  const operations = { "bank:get_balance": { idempotency_required: true } };
  const { gateway, effects } = await openBank({ guard: { operations } });
  const request = { tool: "bank:get_balance", meta };
  await gateway.run(request);
  expect((await gateway.run(request)).via).toBe("replay");
  expect(effects).toHaveLength(1);
});

test("without a key, what may have been done is told to be unknown, and what only reads fails as it did", async () => {
  const { gateway } = await openBank({
    answer: () => {
      throw new GatewayError(UPSTREAM_CLOSED, "The connection ended.");
    },
  });
  expect(getError(await gateway.run({ tool: "bank:create_note" })).code).toBe("OUTCOME_UNKNOWN");
  expect(getError(await gateway.run({ tool: "bank:get_balance" })).code).toBe("UPSTREAM_CLOSED");
});
