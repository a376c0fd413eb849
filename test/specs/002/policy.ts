import { expect } from "vitest";
import { type Actor, type JsonObject, localTools, textResult } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { readRegistryFile } from "./registry-file.ts";
import { ask, CHARGE, card, openSmall, watch, world } from "./world.ts";

const key = (id: string): object => ({ idempotency_key: `hardening-${id}` });
const unknown = localTools("unknown", { id: "unknown" }, [
  { name: "frobnicate", inputSchema: { type: "object" }, run: () => textResult("done") },
]);

/** Executes as an actor with these scopes. */
async function executeAs(
  scopes: readonly string[],
  params: object,
  options: object = {},
): Promise<JsonObject> {
  const actor: Actor = { id: "agent-7", scopes };
  const args = { tool_id: CHARGE, params, options };
  const call = await world.gateway.run({ tool: "gateway:gateway.execute", args, actor });
  return JSON.parse(String(call.result?.content[0]?.["text"])) as JsonObject;
}

/** Lines 642 to 661: what refuses a call, and in which order. */
export function policyRows({ row, differs, prose }: Specification): void {
  prose(644, 647);

  row(
    "645",
    "Refusals are made by the gateway: a call that passes by the five tools is refused too.",
    async () => {
      const call = await world.gateway.run({ tool: "paystack:charge-authorization", args: card });
      expect(call.ok ? "" : call.error.code).toBe("IDEMPOTENCY_REQUIRED");
    },
  );
  row("648", "Each operation has one of four levels of risk.", async () => {
    const levels = Object.values((await readRegistryFile()).operations).map(({ risk_level }) => risk_level);
    expect([...new Set(levels)].toSorted()).toEqual(["destructive", "high", "low", "medium"]);
  });
  for (const [line, field, value, code] of [
    ["649", "idempotency_required", true, "IDEMPOTENCY_REQUIRED"],
    ["650", "confirmation_required", true, "CONFIRMATION_REQUIRED"],
    ["651", "required_scopes", ["rows:read"], "SCOPE_REQUIRED"],
  ] as const) {
    row(line, `${field} of an operation can be set, and is enforced.`, async () => {
      const guard = { scopes: {}, operations: { "paystack:list-transactions": { [field]: value } } };
      const gateway = await openSmall({ guard });
      const call = { tool_id: "paystack:list-transactions", params: {} };
      expect(await ask("execute", call, gateway)).toMatchObject({ error: { code } });
    });
  }
  row("652", "rate_limit_bucket of an operation can be set; calls count against its limit.", async () => {
    const gateway = await openSmall({
      guard: { operations: { "paystack:list-transactions": { rate_limit_bucket: "slow" } } },
      rates: { limits: { slow: { limit: 1, perMs: 3_600_000 } } },
    });
    const call = { tool_id: "paystack:list-transactions", params: {} };
    expect(await ask("execute", call, gateway)).toMatchObject({ success: true });
    expect(await ask("execute", call, gateway)).toMatchObject({ error: { code: "RATE_LIMITED" } });
    const { operations } = await readRegistryFile();
    expect(operations[CHARGE]).toMatchObject({ rate_limit_bucket: "payments_high_risk" });
  });

  row("654-655", "First the scope is checked, before anything else that is wrong with a call.", async () => {
    expect(await executeAs([], { wrong: true })).toMatchObject({ error: { code: "SCOPE_REQUIRED" } });
  });
  row("656", "Then confirmation and key.", async () => {
    expect(await executeAs(["payments:write"], { wrong: true })).toMatchObject({
      error: { code: "IDEMPOTENCY_REQUIRED" },
    });
  });
  row("657", "Then the schema, strictly: a number as a string and an unknown name are refused.", async () => {
    const sent = await watch(async () => {
      for (const params of [{ wrong: true }, { ...card, amount: "500000" }, { ...card, extra: 1 }])
        expect(await executeAs(["payments:write"], params, key("657"))).toMatchObject({
          error: { code: "INVALID_ARGUMENTS" },
        });
    });
    expect(sent).toEqual([]);
  });
  row("658", "Then the adapter calls the API.", async () => {
    const sent = await watch(async () => {
      expect(await executeAs(["payments:write"], card, key("658"))).toMatchObject({ success: true });
    });
    expect(sent).toMatchObject([{ body: card, headers: { authorization: "Bearer sk_canary" } }]);
  });
  row(
    "659",
    "At last the audit has request, tool, a hash of the params, actor and time, and no params.",
    async () => {
      const answer = await executeAs(["payments:write"], card, key("659"));
      const id = (answer["meta"] as JsonObject)["request_id"];
      const record = world.records
        .map((one) => one as unknown as JsonObject)
        .find(({ request_id, event }) => request_id === id && event === "outcome");
      expect(record).toMatchObject({
        request_id: id,
        tool_id: CHARGE,
        params_hash: expect.stringMatching(/^[\w:-]{16,}$/),
        actor_id: "agent-7",
        timestamp: expect.stringMatching(/^\d{4}-/),
      });
      expect(JSON.stringify(record)).not.toContain(card["email"]);
    },
  );
  row("661", "An operation of which nothing is known is of high risk, and needs a key.", async () => {
    const gateway = await openSmall({}, [unknown]);
    const call = { tool_id: "unknown:frobnicate", params: {} };
    expect(await ask("execute", call, gateway)).toMatchObject({
      error: { code: "IDEMPOTENCY_REQUIRED", risk_level: "high" },
    });
    const options = { idempotency_key: "hardening-661" };
    expect(await ask("execute", { ...call, options }, gateway)).toMatchObject({ success: true });
  });
  differs(
    "650",
    "The registry calls it confirmation_required.",
    "The form of the registry (line 540) calls it requires_confirmation; the config takes the name of this line.",
    async () => {
      const { operations } = await readRegistryFile();
      expect(operations[CHARGE]).toHaveProperty("requires_confirmation");
      expect(operations[CHARGE]).not.toHaveProperty("confirmation_required");
    },
  );
}
