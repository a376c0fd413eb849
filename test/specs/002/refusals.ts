import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { CHARGE, callTool, card, execute, FIVE, watch, world } from "./world.ts";

const DELETE = "paystack:delete-transfer-recipient";

/** Lines 200 to 227: calls that are refused. */
export function refusalRows({ row, differs, added, prose }: Specification): void {
  prose(214, 226);

  row(
    "204-205, 207-209, 212",
    "A high risk without a key is refused with IDEMPOTENCY_REQUIRED, and nothing is sent.",
    async () => {
      const sent = await watch(async () => {
        expect(await execute(CHARGE, card)).toMatchObject({
          success: false,
          error: { code: "IDEMPOTENCY_REQUIRED", suggestion: expect.stringContaining("idempotency_key") },
        });
      });
      expect(sent).toEqual([]);
    },
  );
  row("210", "For money, the message is the sentence of the specification.", async () => {
    expect(await execute(CHARGE, card)).toMatchObject({
      error: { message: "This operation modifies financial data. Provide idempotency_key." },
    });
  });
  row("211", "The error has the risk level.", async () => {
    expect(await execute(CHARGE, card)).toMatchObject({ error: { risk_level: "high" } });
  });
  row(
    "216-221, 224",
    "A destructive operation without a confirmation is refused with CONFIRMATION_REQUIRED.",
    async () => {
      const sent = await watch(async () => {
        expect(await execute(DELETE, { code: "RCP_1" }, { idempotency_key: "execute-216" })).toMatchObject({
          success: false,
          error: { code: "CONFIRMATION_REQUIRED" },
        });
      });
      expect(sent).toEqual([]);
    },
  );
  row("222", "The message is the sentence of the specification.", async () => {
    expect(await execute(DELETE, { code: "RCP_1" })).toMatchObject({
      error: { message: "This operation is destructive and cannot be undone." },
    });
  });
  row("223", "The suggestion is to add confirmed: true, or the token of the refusal.", async () => {
    const { error } = await execute(DELETE, { code: "RCP_1" });
    expect(error).toMatchObject({ suggestion: expect.stringMatching(/^Add confirmed: true to proceed/) });
    const { confirmation } = (error as JsonObject)["details"] as { confirmation: string };
    const options = { idempotency_key: "execute-223", confirmation };
    expect(await execute(DELETE, { code: "RCP_1" }, options)).toMatchObject({ success: true });
  });
  added(
    "206-213, 218-225",
    "Every failure of the five tools has this form, with the next step.",
    "The lines show the form for two failures.",
    async () => {
      const failing: [string, object][] = [
        ["gateway.intent", {}],
        ["gateway.intent", { query: "charge", adapter: "nowhere" }],
        ["gateway.execute", { tool_id: "paystack:nothing", params: {} }],
        ["gateway.execute", { tool_id: CHARGE, params: card }],
        ["gateway.adapters", { category: "food" }],
        ["gateway.adapters", { id: "nowhere" }],
        ["gateway.tools", { adapter: "nowhere" }],
        ["gateway.tools", { adapter: "paystack", limit: 51 }],
        ["gateway.reference", { topic: "nothing at all" }],
        ["gateway.reference", { topic: "paystack", section: "jokes" }],
      ];
      expect(new Set(failing.map(([name]) => name))).toEqual(new Set(FIVE));
      for (const [name, args] of failing) {
        const { isError } = await world.client.callTool({ name, arguments: { ...args } });
        expect(isError).toBe(true);
        const answer = await callTool(name, args);
        expect(answer).toMatchObject({
          success: false,
          error: {
            code: expect.stringMatching(/^[A-Z_]+$/),
            message: expect.any(String),
            suggestion: expect.any(String),
          },
          next_step: expect.any(String),
        });
        const { code } = answer["error"] as { code: string };
        // Each code is a topic of its own.
        expect(await callTool("gateway.reference", { topic: code })).toMatchObject({
          common_errors: [{ code, meaning: expect.stringMatching(/./), fix: expect.stringMatching(/./) }],
        });
      }
    },
  );
  differs(
    "200-203",
    "The refusals are written as code of one function.",
    "They are a stage of every call, so that no way to an operation leads around them: REST and direct calls are refused alike.",
    async () => {
      const direct = await world.gateway.run({ tool: "paystack:charge-authorization", args: card });
      expect(direct.ok ? undefined : direct.error.code).toBe("IDEMPOTENCY_REQUIRED");
    },
  );
}
