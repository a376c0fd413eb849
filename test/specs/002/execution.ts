import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { CHARGE, callTool, card, execute, watch, world } from "./world.ts";

/** Lines 229 to 257: what an execution answers. */
export function executionRows({ row, added, prose }: Specification): void {
  prose("229-232", "254-256");

  row("233", "A success says so.", async () => {
    expect(await execute("paystack:read-part3", {})).toMatchObject({ success: true });
  });
  row("234", "The answer names the operation.", async () => {
    expect(await execute("paystack:read-part3", {})).toMatchObject({ tool_id: "paystack:read-part3" });
  });
  row("235", "It says how many milliseconds the call took.", async () => {
    const { execution_time_ms: ms } = await execute("paystack:read-part3", {});
    expect(Number.isInteger(ms)).toBe(true);
  });
  row("237-242", "Its data is the answer of the API, unchanged.", async () => {
    const { data } = await execute(CHARGE, card, { idempotency_key: "execute-237" });
    expect(data).toEqual({
      status: true,
      message: "Charge attempted",
      data: { reference: "ref_xxxxx", status: "success", amount: 500000 },
    });
  });
  added(
    "237-242",
    "A failed call has the answer of the API once, with what it means and what to do.",
    "The lines show a success.",
    async () => {
      const options = { idempotency_key: "execute-declined" };
      const args = { tool_id: CHARGE, params: { ...card, amount: 13 }, options };
      const { content } = await world.client.callTool({ name: "gateway.execute", arguments: args });
      expect(JSON.stringify(content).match(/invalid_key/g)).toHaveLength(1);
      expect(content).toHaveLength(1);
      expect(await callTool("gateway.execute", args)).toMatchObject({
        success: false,
        error: {
          code: "TOOL_ERROR",
          message: "HTTP 400 Bad Request: Declined",
          status: 400,
          meaning: "The API key is not valid.",
          suggestion: expect.stringContaining("PAYSTACK_SECRET_KEY"),
        },
        data: { status: 400, body: { status: false, message: "Declined", code: "invalid_key" } },
      });
    },
  );
  added(
    "237-242",
    "An unset credential is an error of its own, which names the variable, and nothing is sent.",
    "The lines show a success.",
    async () => {
      const sent = await watch(async () => {
        expect(await execute("ngrok-api:read-part1", {})).toMatchObject({
          success: false,
          error: {
            code: "MISSING_VARIABLE",
            message: expect.stringContaining("NGROK_API_KEY"),
            suggestion: expect.stringContaining("Ask the user"),
          },
        });
      });
      expect(sent).toEqual([]);
    },
  );
  row("244-246", "The notes name adapter and tool.", async () => {
    const { meta } = await execute(CHARGE, card, { idempotency_key: "execute-245" });
    expect(meta).toMatchObject({ adapter: "paystack", tool: "charge-authorization" });
  });
  row("247", "They name the request by an id of its own, which the audit has too.", async () => {
    const ids = await Promise.all([1, 2].map(() => execute("paystack:read-part4", {})));
    const [first, second] = ids.map(({ meta }) => (meta as JsonObject)["request_id"]);
    expect(first).not.toBe(second);
    expect(world.records.map((record) => (record as unknown as JsonObject)["request_id"])).toContain(first);
  });
  row("248", "They have the time of the call.", async () => {
    const { meta } = await execute("paystack:read-part4", {});
    expect((meta as JsonObject)["timestamp"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  });
  row(
    "249-253",
    "They say of the operation: risk, whether it may be repeated, whether it can be undone, category.",
    async () => {
      const { meta } = await execute(CHARGE, card, { idempotency_key: "execute-249" });
      expect(meta).toMatchObject({
        operation: { risk_level: "high", idempotent: true, reversible: false, category: "payments" },
      });
      const read = await execute("paystack:read-part4", {});
      expect(read["meta"]).toMatchObject({ operation: { risk_level: "low", idempotent: true } });
    },
  );
}
