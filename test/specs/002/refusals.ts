import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import {
  CHARGE,
  callTool,
  card,
  connect,
  execute,
  FIVE,
  serveIn,
  startProcess,
  watch,
  world,
} from "./world.ts";

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
  added(
    "209-212, 221-223",
    "In full mode, where there are no options, the error names the key of _meta that the request lacks.",
    "The lines know gateway.execute alone.",
    async () => {
      const client = await connect((await serveIn("full")).url);
      const refused = parse(await client.callTool({ name: "charge-authorization", arguments: card }));
      expect(refused).toMatchObject({
        success: false,
        error: {
          code: "IDEMPOTENCY_REQUIRED",
          suggestion: expect.stringContaining('"toolpipe/idempotency-key" in the _meta'),
        },
        next_step: "Follow error.suggestion, then call charge-authorization again",
      });
      const _meta = { "toolpipe/idempotency-key": "refusals-full" };
      const done = await client.callTool({ name: "charge-authorization", arguments: card, _meta });
      expect(parse(done)).toMatchObject({ status: true });
    },
  );
  differs(
    "217",
    "confirmed: true is enough for a destructive operation.",
    "Where the client can ask, the person is asked all the same, since an agent can write true by itself; guard.confirmation: flag takes confirmed: true as the line says.",
    async () => {
      const options = { idempotency_key: "refusals-217", confirmed: true };
      const args = { tool_id: DELETE, params: { code: "RCP_217" }, options };
      const served = new URL("/mcp", world.origin);
      const no = await connect(served, { action: "decline" });
      const sent = await watch(async () => {
        const answer = parse(await no.callTool({ name: "gateway.execute", arguments: args }));
        expect(answer).toMatchObject({ error: { code: "CONFIRMATION_DECLINED" } });
      });
      expect(sent).toEqual([]);
      const yes = await connect(served, { action: "accept", content: { confirm: true } });
      const done = parse(await yes.callTool({ name: "gateway.execute", arguments: args }));
      expect(done).toMatchObject({ success: true });
      const { url } = await startProcess({ guard: { confirmation: "flag" } });
      const flag = await connect(url, { action: "decline" });
      expect(parse(await flag.callTool({ name: "gateway.execute", arguments: args }))).toMatchObject({
        success: true,
      });
    },
  );
}

/** Reads the JSON of an answer. */
function parse({ content }: { readonly content?: unknown }): JsonObject {
  return JSON.parse(String((content as JsonObject[])[0]?.["text"])) as JsonObject;
}
