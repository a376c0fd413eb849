import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ContentBlock,
  GatewayError,
  localTools,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import { readResultData } from "../../../presets/gateway/envelope.ts";
import { describeError } from "../../../presets/gateway/failure.ts";
import { getError } from "../../support/failure.ts";
import { openPay } from "../_gateway-api.ts";

const charge = {
  tool_id: "pay:charge-authorization",
  params: { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" },
};
const key = { idempotency_key: "order-1234" };
const image: ContentBlock = { type: "image", data: "UE5HIQ==", mimeType: "image/png" };

describe("an execution", () => {
  test("is answered as the specification shows it, field by field", async () => {
    const { ask, records } = await openPay();
    const answer = await ask("execute", { ...charge, options: key });
    expect(answer).toEqual({
      success: true,
      next_step: "Use gateway.intent with your next task",
      tool_id: "pay:charge-authorization",
      execution_time_ms: expect.any(Number),
      data: { status: true, message: "Done", data: { id: expect.any(Number) } },
      meta: {
        adapter: "pay",
        tool: "charge-authorization",
        request_id: expect.any(String),
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        operation: { risk_level: "high", idempotent: true, reversible: false, category: "payments" },
      },
    });
    const { request_id } = answer["meta"] as { request_id: string };
    expect(records.map((record) => [record.tool_id, record.request_id === request_id])).toContainEqual([
      "pay:charge-authorization",
      true,
    ]);
  });

  test("passes the answer of the API on with every digit", async () => {
    const { gateway } = await openPay();
    const call = await gateway.run({ tool: "gateway:gateway.execute", args: { ...charge, options: key } });
    expect(String(call.result?.content[0]?.["text"])).toContain('"id":12345678901234567890');
  });

  test("loses no image, which follows the answer as it is", async () => {
    const { gateway } = await openPay();
    const args = { tool_id: "pay:fetch-receipt", params: { id: "1" } };
    const { result } = await gateway.run({ tool: "gateway:gateway.execute", args });
    expect(result?.content).toEqual([{ type: "text", text: expect.stringContaining('"data":null') }, image]);
  });

  test("hands its options to the guard, and the idempotency key to an API that takes one", async () => {
    const { ask, received } = await openPay();
    await ask("execute", { ...charge, options: key });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({ method: "POST", body: charge.params });
  });

  test("is one call within another, each with its own record", async () => {
    const { gateway, records } = await openPay();
    const args = { tool_id: "demo:add", params: { a: 2, b: 3 } };
    const call = await gateway.run({ tool: "gateway:gateway.execute", args });
    expect(records.filter((record) => record.event === "outcome")).toMatchObject([
      { tool_id: "demo:add", parent_id: call.id, outcome: "ok" },
      { tool_id: "gateway:gateway.execute", request_id: call.id, outcome: "ok" },
    ]);
  });

  test("ends when its own timeout is over", async () => {
    const { ask } = await openPay();
    const args = { tool_id: "demo:countdown", params: { from: 100 }, options: { timeout: 30 } };
    expect(await ask("execute", args)).toMatchObject({
      success: false,
      error: { code: "TIMEOUT", retryable: true, message: expect.stringContaining("30 ms") },
    });
  });

  test("may take longer than others where it asks for that, up to the maximum", async () => {
    const args = { tool_id: "demo:countdown", params: { from: 10 }, options: { timeout: 60_000 } };
    const short = { ms: 20, extendOnProgress: false };
    const { ask } = await openPay({ timeout: short });
    expect(await ask("execute", args)).toMatchObject({ success: true });
    expect(await ask("execute", { ...args, options: {} })).toMatchObject({ error: { code: "TIMEOUT" } });
    const bounded = await openPay({ timeout: { ...short, maxMs: 40 } });
    expect(await bounded.ask("execute", args)).toMatchObject({
      error: { code: "TIMEOUT", details: { ms: 40, setting: "options.timeout.maxMs" } },
    });
  });
});

test("a call with an unknown outcome is not retryable", async () => {
  const { gateway } = await openPay();
  const late = new GatewayError("TIMEOUT", "It did not answer in time.");
  const paid = describeError(gateway, late, gateway.catalog.tool(charge.tool_id));
  expect(paid).toMatchObject({ code: "TIMEOUT", risk_level: "high", retryable: false });
  expect(describeError(gateway, late, gateway.catalog.tool("demo:add"))).toMatchObject({ retryable: true });
});

describe("a key", () => {
  test("makes a call happen once: repeated, it is answered as it was", async () => {
    const { ask, received } = await openPay();
    const first = await ask("execute", { ...charge, options: key });
    const second = await ask("execute", { ...charge, options: key });
    expect(received).toHaveLength(1);
    expect(second).toMatchObject({ success: true, data: first["data"], meta: { via: "replay" } });
    expect(first["meta"]).not.toHaveProperty("via");
  });

  test("is for one call: with other parameters it is refused", async () => {
    const { ask, received } = await openPay();
    await ask("execute", { ...charge, options: key });
    const other = { ...charge, params: { ...charge.params, amount: 1 }, options: key };
    expect(await ask("execute", other)).toMatchObject({
      success: false,
      error: { code: "IDEMPOTENCY_MISMATCH", suggestion: expect.stringContaining("new key") },
    });
    expect(received).toHaveLength(1);
  });
});

describe("a dry run", () => {
  test("of a REST operation shows the request, without the secret, and sends nothing", async () => {
    const { ask, received } = await openPay();
    const answer = await ask("execute", { ...charge, options: { dry_run: true } });
    expect(answer).toMatchObject({
      success: true,
      data: {
        dry_run: true,
        request: { method: "POST", url: expect.stringMatching(/charge_authorization$/) },
      },
      meta: { via: "dry run" },
    });
    expect(JSON.stringify(answer)).not.toContain("sk_canary");
    expect(received).toEqual([]);
  });

  test("of a tool of an MCP server shows the call, and makes none", async () => {
    const { ask } = await openPay();
    const args = { tool_id: "demo:add", params: { a: 2, b: 3 }, options: { dry_run: true } };
    expect(await ask("execute", args)).toMatchObject({
      success: true,
      data: { dry_run: true, request: { server: "demo", tool: "add", arguments: { a: 2, b: 3 } } },
      meta: { via: "dry run" },
    });
  });

  test("is one even where the guard is off", async () => {
    const { ask, received } = await openPay({ guard: { enabled: false } });
    expect(await ask("execute", { ...charge, options: { dry_run: true } })).toMatchObject({
      data: { dry_run: true },
    });
    const args = { tool_id: "demo:add", params: { a: 2, b: 3 }, options: { dry_run: true } };
    expect(await ask("execute", args)).toMatchObject({ data: { dry_run: true } });
    expect(received).toEqual([]);
  });

  test("still checks the parameters", async () => {
    const { ask } = await openPay();
    const args = { tool_id: "demo:add", params: { a: 2 }, options: { dry_run: true } };
    expect(await ask("execute", args)).toMatchObject({ error: { code: "INVALID_ARGUMENTS" } });
  });
});

describe("a failure", () => {
  test("for want of a key is the one of the specification", async () => {
    const { ask, received } = await openPay();
    expect(await ask("execute", charge)).toMatchObject({
      success: false,
      error: {
        code: "IDEMPOTENCY_REQUIRED",
        message: expect.stringContaining("Provide idempotency_key."),
        risk_level: "high",
        suggestion: expect.stringContaining("Add idempotency_key"),
      },
    });
    expect(received).toEqual([]);
  });

  test("for want of a confirmation is the one of the specification", async () => {
    const { ask, received } = await openPay();
    const remove = { tool_id: "pay:delete-customer", params: { code: "CUS_1" } };
    expect(await ask("execute", remove)).toMatchObject({
      success: false,
      error: {
        code: "CONFIRMATION_REQUIRED",
        message: "This operation is destructive and cannot be undone.",
        suggestion: expect.stringMatching(/^Add confirmed: true to proceed/),
      },
    });
    expect(received).toEqual([]);
    expect(await ask("execute", { ...remove, options: { confirmed: true } })).toMatchObject({
      success: true,
    });
    expect(received).toMatchObject([{ method: "DELETE", url: "/customer/CUS_1" }]);
  });

  test("for want of a confirmation gives a token, which confirms that very call", async () => {
    const { ask, received } = await openPay({ guard: { confirmation: "token" } });
    const remove = { tool_id: "pay:delete-customer", params: { code: "CUS_1" } };
    const refused = (await ask("execute", { ...remove, options: { confirmed: true } })) as {
      error: { suggestion: string; details: { confirmation: string } };
    };
    expect(refused.error.suggestion).toContain("options.confirmation");
    const options = { confirmation: refused.error.details.confirmation };
    const other = { ...remove, params: { code: "CUS_2" }, options };
    expect(await ask("execute", other)).toMatchObject({ error: { code: "CONFIRMATION_INVALID" } });
    expect(await ask("execute", { ...remove, options })).toMatchObject({ success: true });
    expect(received.map(({ url }) => url)).toEqual(["/customer/CUS_1"]);
  });

  test("of the parameters says where they are wrong and how it is called", async () => {
    const { ask } = await openPay();
    const args = { ...charge, params: { ...charge.params, amount: "a lot" }, options: key };
    expect(await ask("execute", args)).toMatchObject({
      success: false,
      error: {
        code: "INVALID_ARGUMENTS",
        message: expect.stringMatching(/wrong at "\/amount": expected integer.*Call it as/s),
        suggestion: expect.stringContaining("gateway.intent"),
      },
    });
  });

  test("of the API is not one of the gateway: its answer is in data, with what is known of it", async () => {
    const { gateway } = await openPay();
    const args = { ...charge, params: { ...charge.params, amount: 13 }, options: key };
    const { result } = await gateway.run({ tool: "gateway:gateway.execute", args });
    expect(result?.isError).toBe(true);
    expect(JSON.parse(String(result?.content[0]?.["text"]))).toMatchObject({
      success: false,
      error: {
        code: "TOOL_ERROR",
        status: 400,
        meaning: "The bank said no.",
        suggestion: "Ask for another card.",
        risk_level: "high",
      },
      data: { status: 400, body: { code: "card_declined" } },
      meta: { adapter: "pay" },
    });
  });

  test.each([
    ["an unknown operation", "pay:charge-authorisation", "pay:charge-authorization"],
    ["an unknown adapter", "paid:list-banks", "pay:list-banks"],
    ["an id without a colon", "list-banks", "pay:list-banks"],
  ])("%s is refused, with what may have been meant", async (_what, tool_id, meant) => {
    const { ask } = await openPay();
    expect(await ask("execute", { tool_id, params: {} })).toMatchObject({
      success: false,
      tool_id,
      error: {
        code: "TOOL_NOT_FOUND",
        suggestion: "Use gateway.intent to find the right tool_id",
        details: { suggestions: expect.arrayContaining([meant]) },
      },
    });
  });

  test.each(["gateway:gateway.intent", "gateway:gateway.execute"])("%s is no operation", async (tool_id) => {
    const { ask } = await openPay();
    expect(await ask("execute", { tool_id, params: {} })).toMatchObject({
      error: { code: "TOOL_NOT_FOUND" },
    });
  });

  test.each([
    [{ tool_id: "demo:add" }],
    [{ params: {} }],
    [{ tool_id: 5, params: {} }],
    [{ tool_id: "demo:add", params: [] }],
    [{ tool_id: "demo:add", params: {}, options: { idempotencyKey: "abc" } }],
    [{ tool_id: "demo:add", params: {}, options: { confirmed: "true" } }],
    [{ tool_id: "demo:add", params: {}, options: { timeout: 0 } }],
  ])("refuses %j", async (args) => {
    const { gateway } = await openPay();
    expect(getError(await gateway.run({ tool: "gateway:gateway.execute", args })).code).toBe(
      "INVALID_ARGUMENTS",
    );
  });
});

describe("an id that is not registered", () => {
  const hidden = localTools("hidden", { id: "hidden", builtin: true }, [
    { name: "peek", inputSchema: { type: "object" }, run: () => textResult("seen") },
  ]);
  const order = { tool_id: "hidden:peek", params: {} };

  test("is refused, and nothing runs", async () => {
    const { ask } = await openPay({}, [hidden]);
    expect(await ask("execute", order)).toMatchObject({ error: { code: "TOOL_NOT_FOUND" } });
  });

  test("is tried in debug mode", async () => {
    const { ask } = await openPay({ discovery: { debug: true } }, [hidden]);
    expect(await ask("execute", order)).toMatchObject({ success: true, data: "seen" });
  });
});

describe("the data of a result", () => {
  const parsed = (result: ToolResult) => {
    const { json, rest } = readResultData(result);
    return [JSON.parse(json), rest];
  };
  const text = (value: string): ContentBlock => ({ type: "text", text: value });

  test("is its text block, parsed where it is JSON", () => {
    expect(parsed({ content: [text("plain")] })).toEqual(["plain", []]);
    expect(parsed({ content: [text(' {"a": [1]} ')] })).toEqual([{ a: [1] }, []]);
    expect(parsed({ content: [text("{not json")] })).toEqual(["{not json", []]);
    expect(parsed({ content: [text("5")] })).toEqual(["5", []]);
    expect(parsed({ content: [text("one"), text('{"two":2}')] })).toEqual([["one", { two: 2 }], []]);
    expect(parsed({ content: [] })).toEqual([null, []]);
  });

  test("is its structured content, followed by a text block that differs", () => {
    const structuredContent = { a: 1 };
    expect(parsed({ content: [text('{ "a": 1 }')], structuredContent })).toEqual([{ a: 1 }, []]);
    expect(parsed({ content: [text("A note."), image], structuredContent })).toEqual([
      { a: 1 },
      [text("A note."), image],
    ]);
  });

  test("keeps numbers that no program here can hold", () => {
    for (const digits of ["12345678901234567890", "1e400", "0.12345678901234567890"]) {
      expect(readResultData({ content: [text(`{"n": ${digits}}`)] }).json).toContain(digits);
    }
  });

  test("is the same JSON for whatever JSON it was", () => {
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())), (value) => {
        const [data] = parsed({ content: [text(JSON.stringify(value, null, 2))] });
        expect(JSON.stringify(data)).toBe(JSON.stringify(value));
      }),
    );
  });
});
