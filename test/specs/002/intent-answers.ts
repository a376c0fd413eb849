import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { ask, CHARGE, card, execute, openSmall } from "./world.ts";

const task = "charge a card in Nigeria";
/** The answer to the task of the specification, asked of Paystack. */
const ready = async (more: object = {}): Promise<JsonObject> =>
  (await ask("intent", { query: "charge authorization", adapter: "paystack", ...more }))[
    "ready_to_execute"
  ] as JsonObject;

/** Lines 107 to 160: what gateway.intent answers. */
export function intentAnswerRows({ row, differs, added, prose }: Specification): void {
  prose("107-110", 139, "152-154", "158-159");

  row("111-114, 117", "A recommendation names adapter, tool and tool_id.", async () => {
    const { recommended } = await ask("intent", { query: "charge authorization" });
    expect(recommended).toMatchObject({ adapter: "paystack", tool: "charge-authorization", tool_id: CHARGE });
  });
  row("115", "An operation that the task names well has a confidence of .95 or more.", async () => {
    const { recommended } = await ask("intent", { query: "charge authorization" });
    expect((recommended as JsonObject)["confidence"]).toBeGreaterThanOrEqual(0.95);
  });
  row("116", "The reason says which words matched where, and what the adapter lists.", async () => {
    const { recommended } = await ask("intent", { query: task, context: { country: "NG", currency: "NGN" } });
    const { why } = recommended as { why: string };
    expect(why).toMatch(/"charge".*in its name.*"nigeria".*in its adapter.*lists NGN and NG/);
  });
  row("119-120", "ready_to_execute has the tool_id to call.", async () => {
    expect(await ready()).toMatchObject({ tool_id: CHARGE });
  });
  row("121", "It lists the required parameters.", async () => {
    const { required_params } = (await ready()) as { required_params: string[] };
    expect(required_params.toSorted()).toEqual(["amount", "authorization_code", "email"]);
  });
  row("122", "It lists the optional parameters.", async () => {
    const { optional_params } = await ready();
    expect(optional_params).toEqual(expect.arrayContaining(["reference", "currency", "metadata"]));
    expect(optional_params).not.toContain("amount");
  });
  row("123-127", "It has the schema of each parameter, with type and description.", async () => {
    const { param_schemas } = (await ready()) as { param_schemas: Record<string, JsonObject> };
    expect(param_schemas).toMatchObject({
      amount: { type: "integer", description: "Amount in the lower denomination of your currency" },
      email: { type: "string" },
      authorization_code: { type: "string" },
    });
    expect(param_schemas["currency"]?.["enum"]).toContain("NGN");
  });
  row(
    "128-132",
    "Its example has a value for each required parameter and for no other, and passes the check.",
    async () => {
      const { example } = (await ready()) as { example: JsonObject };
      expect(Object.keys(example).toSorted()).toEqual(["amount", "authorization_code", "email"]);
      expect(example).toMatchObject({
        amount: expect.any(Number),
        authorization_code: expect.stringMatching(/^AUTH_/),
      });
      expect(await execute(CHARGE, example, { idempotency_key: "example-128" })).toMatchObject({
        success: true,
      });
    },
  );
  row(
    "133-136, 138",
    "Its constraints are risk, whether a key and whether a confirmation is required.",
    async () => {
      const { constraints } = await ready();
      expect(constraints).toMatchObject({
        risk_level: "high",
        requires_idempotency: true,
        requires_confirmation: false,
      });
    },
  );
  row("137", "They name the rate limit as a rate, where there is one.", async () => {
    expect((await ready())["constraints"]).toMatchObject({ rate_limit: "100 req/min" });
    const gateway = await openSmall({
      rates: { limits: { payments_high_risk: { limit: 7, perMs: 3_600_000 } } },
    });
    const other = await ask("intent", { query: CHARGE }, gateway);
    expect(other["ready_to_execute"]).toMatchObject({ constraints: { rate_limit: "7 req/h" } });
    const read = await ask("intent", { query: "ngrok-api:read-part1" });
    expect((read["ready_to_execute"] as JsonObject)["constraints"]).not.toHaveProperty("rate_limit");
  });
  row(
    "141",
    "missing_inputs is empty where the task has all values, and else a field with a question each.",
    async () => {
      const { amount, email, authorization_code } = card;
      const query = `charge authorization ${authorization_code} for ${email} amount ${amount}`;
      const whole = await ask("intent", { query });
      expect(whole).toMatchObject({ recommended: { tool_id: CHARGE }, missing_inputs: [] });
      const { missing_inputs } = await ask("intent", { query: `charge authorization for ${email}` });
      expect(missing_inputs).toEqual([
        { field: "amount", question: expect.stringMatching(/^What is "amount"\? .+/) },
        { field: "authorization_code", question: expect.any(String) },
      ]);
    },
  );
  added(
    "120, 141",
    "Ids, e-mail addresses, amounts, dates and URLs of a task are offered as params, and do not lower the confidence.",
    "The lines do not say what becomes of values in a task.",
    async () => {
      const plain = await ask("intent", { query: "charge authorization" });
      const query = "charge authorization AUTH_abc for a@b.co amount 5000";
      const answer = await ask("intent", { query, context: { currency: "NGN" } });
      expect(answer["ready_to_execute"]).toMatchObject({
        params: { authorization_code: "AUTH_abc", email: "a@b.co", amount: 5000, currency: "NGN" },
      });
      const confidence = ({ recommended }: JsonObject) => Number((recommended as JsonObject)["confidence"]);
      expect(confidence(answer)).toBeGreaterThanOrEqual(confidence(plain) - 0.05);
    },
  );
  added(
    "141",
    "Two values for one parameter are asked about, with both.",
    "The lines say that ambiguous inputs are asked, and not which are.",
    async () => {
      const { missing_inputs } = await ask("intent", {
        query: "initialize transaction of 5000 or 6000 for a@b.co",
      });
      expect(missing_inputs).toEqual([{ field: "amount", question: 'Which of 5000, 6000 is "amount"?' }]);
    },
  );
  row(
    "142",
    "next_step says to call gateway.execute with tool_id and params, and with what else is required.",
    async () => {
      const { next_step } = await ask("intent", { query: "verify transaction" });
      expect(next_step).toBe("Call gateway.execute with tool_id and params");
      expect((await ask("intent", { query: CHARGE }))["next_step"]).toMatch(
        /^Call gateway\.execute .*idempotency_key/,
      );
    },
  );
  row("144-151", "An alternative has adapter, tool, tool_id, a lower confidence and a reason.", async () => {
    const { recommended, alternatives } = (await ask("intent", { query: task })) as {
      recommended: JsonObject;
      alternatives: JsonObject[];
    };
    expect(alternatives[0]).toMatchObject({
      adapter: "paystack",
      tool: "charge-authorization",
      tool_id: CHARGE,
      why: expect.stringContaining("nigeria"),
    });
    const confidences = [recommended, ...alternatives].map(({ confidence }) => Number(confidence));
    expect(confidences).toEqual(confidences.toSorted((a, b) => b - a));
  });
  row("155", "search_context says whether all adapters were searched or one.", async () => {
    const { search_context } = await ask("intent", { query: task });
    expect(search_context).toMatchObject({ mode: "global" });
    const { search_context: one } = await ask("intent", { query: task, adapter: "paystack" });
    expect(one).toMatchObject({ mode: "adapter-specific" });
  });
  row("156", "It names the adapters of what was found.", async () => {
    const { search_context } = (await ask("intent", { query: task, limit: 1 })) as {
      search_context: { matched_adapters: string[] };
    };
    expect(search_context.matched_adapters.toSorted()).toEqual(["flutterwave-v3", "paystack"]);
  });
  differs(
    "157",
    "It gives the task in other words.",
    "It gives the words that were searched for: a paraphrase would be a guess, and could not be checked against the matches.",
    async () => {
      const { search_context } = await ask("intent", { query: "Charge a card, 5000, in Nigeria!" });
      expect(search_context).toMatchObject({ query_interpreted: "charge, card, nigeria" });
    },
  );
}
