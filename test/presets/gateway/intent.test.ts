import { describe, expect, test } from "vitest";
import { getError } from "../../support/failure.ts";
import { openPay } from "../_gateway-api.ts";

const charge = "pay:charge-authorization";

describe("a task that is clear", () => {
  test("is answered as the specification shows it, field by field", async () => {
    const { ask } = await openPay();
    expect(await ask("intent", { query: "charge an authorized card in Nigeria" })).toEqual({
      recommended: {
        adapter: "pay",
        tool: "charge-authorization",
        tool_id: charge,
        confidence: expect.any(Number),
        why: expect.stringContaining('"charge"'),
        description: "Charge a previously authorized card.",
      },
      ready_to_execute: {
        tool_id: charge,
        required_params: ["amount", "email", "authorization_code"],
        optional_params: ["currency", "metadata"],
        param_schemas: {
          amount: { type: "integer", description: "Amount in kobo" },
          email: { type: "string", format: "email", description: "Email of the customer" },
          authorization_code: { type: "string" },
          currency: { type: "string" },
          metadata: { type: "object" },
        },
        example: { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" },
        constraints: {
          risk_level: "high",
          requires_idempotency: true,
          requires_confirmation: false,
          rate_limit: "100 req/min",
          required_scopes: ["payments:write"],
        },
      },
      missing_inputs: [
        { field: "amount", question: 'What is "amount"? Amount in kobo.' },
        { field: "email", question: 'What is "email"? Email of the customer.' },
        { field: "authorization_code", question: 'What is "authorization_code"?' },
      ],
      next_step: "Call gateway.execute with tool_id and params, and options.idempotency_key",
      alternatives: expect.any(Array),
      search_context: {
        mode: "global",
        matched_adapters: expect.arrayContaining(["pay"]),
        query_interpreted: "charge, authorized, card, nigeria",
      },
    });
  });

  test("is explained by what was found and by nothing else", async () => {
    const { ask } = await openPay();
    const { recommended } = await ask("intent", { query: "charge an authorized card in Nigeria" });
    expect(recommended).toMatchObject({
      why: 'Matches "charge" in its name, "authorized" and "card" in its description, "nigeria" in its adapter.',
    });
  });

  test("keeps to one adapter where it is told to", async () => {
    const { ask } = await openPay();
    const answer = await ask("intent", { query: "list the banks", adapter: "pay" });
    expect(answer).toMatchObject({
      recommended: { tool_id: "pay:list-banks" },
      search_context: { mode: "adapter-specific", matched_adapters: ["pay"] },
    });
    expect(await ask("intent", { query: "list the banks", adapter: "demo" })).toMatchObject({
      needs_selection: true,
    });
  });

  test("names as many alternatives as the limit says", async () => {
    const { ask } = await openPay({ discovery: { defaultLimit: 1 } });
    const query = "initialize payment transaction";
    expect((await ask("intent", { query }))["alternatives"]).toHaveLength(1);
    expect((await ask("intent", { query, limit: 2 }))["alternatives"]).toHaveLength(2);
  });
});

describe("the context of a task", () => {
  const query = "start a payment";

  test("ranks an adapter higher that lists the currency, the country and the use, and gives the reason", async () => {
    const { ask } = await openPay();
    const plain = await ask("intent", { query });
    const fitting = await ask("intent", {
      query,
      context: { currency: "NGN", country: "Nigeria", use_case: "subscription" },
    });
    const confidence = (answer: object) => (answer as { recommended: { confidence: number } }).recommended;
    expect(confidence(fitting).confidence).toBeGreaterThan(confidence(plain).confidence);
    expect(fitting).toMatchObject({
      recommended: { why: expect.stringContaining("Pay lists NGN, Nigeria and subscription.") },
      search_context: { query_interpreted: "start, payment, NGN, Nigeria, subscription" },
    });
  });

  test("lowers one that lists others, and says nothing of one that lists none", async () => {
    const { ask } = await openPay({ discovery: { minConfidence: 0 } });
    const plain = (await ask("intent", { query })) as { recommended: { confidence: number; why: string } };
    const other = (await ask("intent", { query, context: { currency: "EUR" } })) as typeof plain;
    expect(other.recommended.confidence).toBeLessThan(plain.recommended.confidence);
    expect(other.recommended.why).toContain("Pay does not list EUR.");
    const demo = await ask("intent", { query: "count words", context: { currency: "EUR" } });
    expect(JSON.stringify(demo["recommended"])).not.toContain("EUR");
  });

  test("fills a parameter of the same name, which is then not asked for", async () => {
    const { ask, gateway } = await openPay();
    const inputSchema = {
      type: "object",
      properties: {
        currency: { type: "string", enum: ["NGN", "GHS"] },
        speed: { const: "fast" },
        mode: { type: "string", default: "test" },
      },
      required: ["currency", "speed", "mode"],
    };
    await gateway.catalog.replace({ id: "rates" }, [{ name: "fetch-rate", inputSchema }]);
    const asked = async (context = {}) =>
      (await ask("intent", { query: "rates:fetch-rate", context }))["missing_inputs"];
    expect(await asked()).toEqual([{ field: "currency", question: 'What is "currency"? One of NGN, GHS.' }]);
    expect(await asked({ currency: "NGN" })).toEqual([]);
  });
});

describe("a task that is not clear", () => {
  test("is not guessed at: below the threshold the agent is asked to choose", async () => {
    const { ask } = await openPay();
    const answer = await ask("intent", { query: "charge the battery of my phone overnight" });
    expect(answer).toMatchObject({
      needs_selection: true,
      missing_inputs: [{ field: "tool_id", question: expect.stringContaining(charge) }],
      next_step: expect.stringContaining("Choose one of the alternatives"),
      alternatives: [{ tool_id: charge, confidence: expect.any(Number) }],
    });
    expect(answer).not.toHaveProperty("recommended");
    expect(answer).not.toHaveProperty("ready_to_execute");
  });

  test("has a threshold that can be set", async () => {
    const { ask } = await openPay({ discovery: { minConfidence: 0.1 } });
    const answer = await ask("intent", { query: "charge the battery of my phone overnight" });
    expect(answer).toMatchObject({ recommended: { tool_id: charge } });
  });

  test("reports that nothing fits", async () => {
    const { ask } = await openPay();
    expect(await ask("intent", { query: "xyzzy" })).toMatchObject({
      needs_selection: true,
      missing_inputs: [{ field: "query", question: expect.any(String) }],
      alternatives: [],
      search_context: { matched_adapters: [] },
    });
  });

  test("is a choice where two operations fit equally well", async () => {
    const { ask, gateway } = await openPay();
    for (const id of ["one", "two"]) {
      await gateway.catalog.replace({ id }, [{ name: "greet-person", inputSchema: { type: "object" } }]);
    }
    expect(await ask("intent", { query: "greet person" })).toMatchObject({
      needs_selection: true,
      alternatives: [{ tool_id: "one:greet-person" }, { tool_id: "two:greet-person" }],
    });
    expect(await ask("intent", { query: "greet person", adapter: "two" })).toMatchObject({
      recommended: { tool_id: "two:greet-person" },
    });
  });
});

describe("a query that is a tool_id", () => {
  test("gives the full schema of the operation", async () => {
    const { ask } = await openPay();
    expect(await ask("intent", { query: charge })).toMatchObject({
      recommended: { tool_id: charge, confidence: 1, why: "It is what was named." },
      ready_to_execute: { param_schemas: { metadata: { type: "object" } } },
      alternatives: [],
      search_context: { query_interpreted: `tool_id ${charge}` },
    });
  });

  test("brings the definitions that its parameters refer to, and all parameters however many", async () => {
    const { ask, gateway } = await openPay();
    const properties = Object.fromEntries(
      Array.from({ length: 80 }, (_, index) => [
        `field_${index}`,
        { type: "string", description: "A field of a large form, which has many of them." },
      ]),
    );
    const inputSchema = {
      type: "object",
      properties: { place: { $ref: "#/$defs/place" }, ...properties },
      required: ["place"],
      $defs: {
        place: { type: "object", properties: { country: { $ref: "#/$defs/country" } } },
        country: { type: "string" },
        unused: { type: "number" },
      },
    };
    await gateway.catalog.replace({ id: "forms" }, [{ name: "fill_form", inputSchema }]);
    const short = (await ask("intent", { query: "fill form" })) as { ready_to_execute: Ready };
    const whole = (await ask("intent", { query: "forms:fill-form" })) as { ready_to_execute: Ready };
    interface Ready {
      param_schemas: object;
      optional_params: string[];
      $defs: object;
    }
    expect(short.ready_to_execute.optional_params).toHaveLength(80);
    expect(Object.keys(short.ready_to_execute.param_schemas).length).toBeLessThan(60);
    expect(Object.keys(whole.ready_to_execute.param_schemas)).toHaveLength(81);
    expect(Object.keys(whole.ready_to_execute.$defs).sort()).toEqual(["country", "place"]);
  });

  test("that a rule has switched off is not described", async () => {
    const { ask } = await openPay({ rules: { toolRules: [{ pattern: ["*list-banks*"], enabled: false }] } });
    expect(await ask("intent", { query: "pay:list-banks" })).not.toMatchObject({
      recommended: { tool_id: "pay:list-banks" },
    });
  });
});

test("an adapter that is not there is an error that names those that are", async () => {
  const { gateway } = await openPay();
  const args = { query: "x", adapter: "payy" };
  const error = getError(await gateway.run({ tool: "gateway:gateway.intent", args }));
  expect(error).toMatchObject({
    code: "TOOL_NOT_FOUND",
    message: expect.stringMatching(/There is no adapter "payy"\. Did you mean "pay"\? .*demo/),
  });
});

test("the other ranking can be chosen", async () => {
  const { ask } = await openPay({ discovery: { ranking: "search", minConfidence: 0.2 } });
  expect(await ask("intent", { query: "charge a card" })).toMatchObject({
    recommended: { tool_id: charge, why: expect.stringContaining("Matches") },
  });
});
