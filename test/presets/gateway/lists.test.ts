import { describe, expect, test } from "vitest";
import { getError } from "../../support/failure.ts";
import { openPay } from "../_gateway-api.ts";

describe("gateway.adapters", () => {
  test("lists adapters as the specification shows them, field by field", async () => {
    const { ask } = await openPay();
    const answer = (await ask("adapters", { category: "payments", country: "NG" })) as { adapters: object[] };
    expect(answer).toEqual({
      total: 3,
      returned: 1,
      filters_applied: { category: "payments", country: "NG" },
      adapters: [
        {
          id: "pay",
          name: "Pay",
          description: "Takes payments.",
          category: "payments",
          capabilities: ["card_payments", "subscriptions"],
          supported_countries: ["NG", "GH"],
          supported_currencies: ["NGN", "GHS"],
          tool_count: 5,
          tool_categories: { transactions: 2, banks: 1, receipts: 1, customers: 1 },
          auth_type: "bearer",
          status: "operational",
          common_operations: ["pay:initialize-transaction"],
        },
      ],
      next_step: "Use gateway.intent with your task, or gateway.tools to explore an adapter",
    });
  });

  test.each([
    [{}, ["demo", "odd", "pay"]],
    [{ category: "all" }, ["demo", "odd", "pay"]],
    [{ category: "Payments" }, ["pay"]],
    [{ category: "general" }, ["demo", "odd"]],
    [{ capability: "card payments" }, ["pay"]],
    [{ capability: "card_payments", country: "Ghana" }, ["pay"]],
    // An adapter without a list of countries is not restricted to any.
    [{ country: "de" }, ["demo", "odd"]],
    [{ country: "de", category: "payments" }, []],
    [{ capability: "" }, []],
  ])("with %j leaves %j", async (filters, ids) => {
    const { ask } = await openPay();
    const { adapters } = (await ask("adapters", filters)) as { adapters: { id: string }[] };
    expect(adapters.map(({ id }) => id).sort()).toEqual(ids);
  });

  test("lists the categories where none fits", async () => {
    const { ask } = await openPay();
    expect(await ask("adapters", { category: "storage" })).toMatchObject({
      adapters: [],
      next_step: expect.stringContaining("general, payments"),
    });
  });

  test("refuses a category that there is not, and takes the id of an adapter", async () => {
    const { ask } = await openPay();
    await expect(ask("adapters", { category: "food" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
      message: expect.stringContaining('no category "food"'),
    });
    expect(await ask("adapters", { id: "pay" })).toMatchObject({
      returned: 1,
      filters_applied: { id: "pay" },
      adapters: [{ id: "pay", capabilities: ["card_payments", "subscriptions"] }],
    });
    await expect(ask("adapters", { id: "payy" })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("names one whose document cannot be used, and why", async () => {
    const { ask } = await openPay({
      openapi: { adapters: { broken: { document: "/nowhere/broken.json" } } },
    });
    expect(await ask("adapters")).toMatchObject({
      adapters: expect.arrayContaining([
        expect.objectContaining({
          id: "broken",
          status: "unavailable",
          status_reason: expect.stringContaining("/nowhere/broken.json"),
          tool_count: 0,
        }),
      ]),
    });
  });

  test("counts the operations that wait for approval", async () => {
    const { ask } = await openPay({ pins: { firstUse: "ask" } });
    expect(await ask("adapters", { category: "payments" })).toMatchObject({
      adapters: [{ id: "pay", tool_count: 0, awaiting_approval: 5 }],
    });
    expect(await ask("execute", { tool_id: "pay:list-banks", params: {} })).toMatchObject({
      error: { code: "TOOL_PENDING", suggestion: expect.stringContaining("toolpipe approve") },
    });
  });

  test("knows of an MCP server what an overlay says of it", async () => {
    const { ask } = await openPay({
      discovery: {
        overlays: { demo: { name: "Demo", category: "math", commonOperations: ["word_count", "x"] } },
      },
    });
    expect(await ask("adapters", { category: "math" })).toMatchObject({
      adapters: [{ id: "demo", name: "Demo", common_operations: ["demo:word-count"] }],
    });
  });
});

describe("gateway.tools", () => {
  test("lists operations as the specification shows them, field by field", async () => {
    const { ask } = await openPay();
    expect(await ask("tools", { adapter: "pay", limit: 2 })).toEqual({
      adapter: "pay",
      total_tools: 5,
      returned: 2,
      offset: 0,
      categories: ["transactions", "banks", "receipts", "customers"],
      tools: [
        {
          tool_id: "pay:charge-authorization",
          name: "Charge Authorization",
          description: "Charge a previously authorized card.",
          category: "transactions",
          method: "POST",
          risk_level: "high",
          required_params: ["amount", "email", "authorization_code"],
          optional_param_count: 2,
        },
        expect.objectContaining({ tool_id: "pay:initialize-transaction" }),
      ],
      next_step: "Use gateway.intent with a tool_id for full schema; 3 more from offset 2",
    });
  });

  test.each([
    [{ category: "Transactions" }, ["pay:charge-authorization", "pay:initialize-transaction"]],
    [{ search: "delete" }, ["pay:delete-customer"]],
    [{ search: "transaction", category: "banks" }, []],
    [{ offset: 4 }, ["pay:delete-customer"]],
    [{ offset: 9 }, []],
  ])("with %j gives %j", async (args, ids) => {
    const { ask } = await openPay();
    const answer = (await ask("tools", { adapter: "pay", ...args })) as {
      tools: { tool_id: string }[];
      total_tools: number;
    };
    expect(answer.tools.map(({ tool_id }) => tool_id)).toEqual(ids);
    expect(answer.total_tools).toBe(5);
  });

  test("counts the matches of a filter", async () => {
    const { ask } = await openPay();
    expect(await ask("tools", { adapter: "pay", category: "transactions", limit: 1 })).toMatchObject({
      matched: 2,
      returned: 1,
      next_step: expect.stringContaining("1 more from offset 1"),
    });
    expect(await ask("tools", { adapter: "pay", search: "xyzzy" })).toMatchObject({
      matched: 0,
      next_step: expect.stringMatching(/^No tool fits/),
    });
  });

  test.each([[{ limit: 51 }], [{ limit: 0 }], [{ offset: -1 }], [{ adapter: 5 }]])(
    "refuses %j",
    async (args) => {
      const { gateway } = await openPay();
      const call = await gateway.run({ tool: "gateway:gateway.tools", args: { adapter: "pay", ...args } });
      expect(getError(call).code).toBe("INVALID_ARGUMENTS");
    },
  );

  test.each(["nowhere", "gateway", ""])("knows no adapter %j", async (adapter) => {
    const { gateway } = await openPay();
    const error = getError(await gateway.run({ tool: "gateway:gateway.tools", args: { adapter } }));
    expect(error.code).toBe("TOOL_NOT_FOUND");
    expect(error.message).toContain(`There is no adapter "${adapter}".`);
  });

  test("does not list what a rule has switched off", async () => {
    const { ask } = await openPay({ rules: { toolRules: [{ pattern: ["*delete*"], enabled: false }] } });
    expect(await ask("tools", { adapter: "pay" })).toMatchObject({ total_tools: 4 });
  });
});

describe("gateway.reference", () => {
  test("tells of an adapter as the specification shows it, field by field", async () => {
    const { ask } = await openPay();
    expect(await ask("reference", { topic: "pay" })).toEqual({
      topic: "pay",
      type: "adapter",
      overview: { name: "Pay", description: "Takes payments.", documentation: "https://pay.example/docs" },
      authentication: { type: "bearer", header: "Authorization: Bearer $PAY_KEY", env_var: "PAY_KEY" },
      examples: [
        {
          title: "Initialize Transaction",
          tool_id: "pay:initialize-transaction",
          request: { amount: expect.any(Number), email: expect.stringContaining("@") },
        },
      ],
      common_errors: [{ code: "card_declined", meaning: "The bank said no.", fix: "Ask for another card." }],
      webhooks: { documentation: "https://pay.example/webhooks" },
      best_practices: ["Verify every transaction"],
      next_step: expect.stringContaining("gateway.intent"),
    });
  });

  test.each([
    ["overview", "overview"],
    ["authentication", "authentication"],
    ["examples", "examples"],
    ["errors", "common_errors"],
    ["webhooks", "webhooks"],
    ["best_practices", "best_practices"],
  ])("tells of the section %s alone", async (section, field) => {
    const { ask } = await openPay();
    const answer = await ask("reference", { topic: "pay", section });
    expect(Object.keys(answer)).toEqual(["topic", "type", field, "next_step"]);
  });

  test("lists the sections where the requested one does not exist", async () => {
    const { ask } = await openPay();
    expect(await ask("reference", { topic: "idempotency", section: "webhooks" })).toMatchObject({
      sections: ["overview", "examples", "errors", "best_practices"],
    });
  });

  test("tells of an operation what its document says, and how it is used safely", async () => {
    const { ask } = await openPay();
    expect(await ask("reference", { topic: "pay:charge-authorization" })).toMatchObject({
      type: "tool",
      overview: {
        name: "Charge Authorization",
        method: "POST",
        path: "/transaction/charge_authorization",
        constraints: { risk_level: "high" },
      },
      examples: [{ request: { amount: 500000 } }],
      common_errors: [
        { code: "bad_request", status: "400", meaning: "The card was declined", fix: expect.any(String) },
        { code: "card_declined" },
      ],
      best_practices: expect.arrayContaining([expect.stringContaining("options.idempotency_key")]),
    });
  });

  test.each([
    "idempotency",
    "confirmation",
    "authentication",
    "errors",
    "dry run",
    "risk levels",
    "rate-limits",
  ])("tells of %s", async (topic) => {
    const { ask } = await openPay();
    const answer = await ask("reference", { topic });
    expect(answer).toMatchObject({ type: "concept", overview: { description: expect.any(String) } });
    expect(JSON.stringify(answer).length).toBeLessThan(topic === "errors" ? 5_000 : 3_500);
  });

  test("refuses any other section, and lists the known ones", async () => {
    const { gateway } = await openPay();
    const error = getError(
      await gateway.run({ tool: "gateway:gateway.reference", args: { topic: "idempotence" } }),
    );
    expect(error.code).toBe("TOOL_NOT_FOUND");
    expect(error.message).toMatch(
      /did you mean "idempotency"\?.*a tool_id, or one of idempotency, confirmation/,
    );
  });
});
