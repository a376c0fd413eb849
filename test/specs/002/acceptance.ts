import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { checkFile, readRegistryFile } from "./registry-file.ts";
import {
  ask,
  CHARGE,
  card,
  connect,
  countTokens,
  execute,
  listed,
  openSmall,
  post,
  serveIn,
  watch,
  world,
} from "./world.ts";

/** Lines 715 to 733: the order of work, and what is accepted. */
export function acceptanceRows({ row, prose }: Specification): void {
  prose(715, 726, 737);

  row("716", "Lazy mode lists five tools only.", () => {
    expect(listed()).toHaveLength(5);
  });
  row("717", "The registry is made in memory, without a file.", async () => {
    const gateway = await openSmall();
    expect(await ask("tools", { adapter: "paystack" }, gateway)).toMatchObject({ total_tools: 6 });
  });
  row("718", "gateway.execute enforces policy, and checks the schema strictly.", async () => {
    expect(await execute(CHARGE, card)).toMatchObject({ success: false });
    const wrong = { ...card, queue: "true" };
    expect(await execute(CHARGE, wrong, { idempotency_key: "rules-718" })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS", message: expect.stringContaining("/queue") },
    });
  });
  row(
    "719",
    "gateway.adapters and gateway.tools are thin: neither takes more than 1,200 tokens by default.",
    async () => {
      expect(countTokens(await ask("adapters"))).toBeLessThanOrEqual(1_200);
      expect(countTokens(await ask("tools", { adapter: "more-1", limit: 10 }))).toBeLessThanOrEqual(1_200);
    },
  );
  row("720", "gateway.intent has confidences and a threshold.", async () => {
    const { recommended } = await ask("intent", { query: "charge authorization" });
    expect((recommended as JsonObject)["confidence"]).toBeGreaterThanOrEqual(0.5);
    expect(await ask("intent", { query: "bake a cake" })).not.toHaveProperty("recommended");
  });
  row("721", "operations.json is written where a path is named.", async () => {
    expect((await readRegistryFile()).operation_count).toBe(1604);
  });
  row("722", "The registry that the gateway writes passes its own checks at the next start.", async () => {
    expect((await checkFile((registry) => registry)).services.mode?.().name).toBe("lazy");
  });

  row(
    "727",
    "tools/list returns exactly five tools in lazy mode, over HTTP and from a process.",
    async () => {
      expect((await world.client.listTools()).tools).toHaveLength(5);
      const { url } = await serveIn("lazy");
      expect((await (await connect(url)).listTools()).tools).toHaveLength(5);
    },
  );
  row("728", "The REST endpoint executes, with the body as parameters.", async () => {
    const sent = await watch(async () => {
      const answer = await post("/api/adapters/paystack/tools/verify-transaction", { reference: "r7" });
      expect(answer).toMatchObject({ status: 200, success: true, tool_id: "paystack:verify-transaction" });
    });
    expect(sent).toMatchObject([{ method: "GET", url: "/transaction/verify/r7" }]);
  });
  row("729-731", "Two calls lead from a task to a result, or to an error with what to do.", async () => {
    const { ready_to_execute: ready } = await ask("intent", { query: "charge authorization" });
    const { tool_id, example } = ready as { tool_id: string; example: object };
    expect(await execute(tool_id, example)).toMatchObject({
      success: false,
      error: { suggestion: expect.stringContaining("idempotency_key") },
      next_step: expect.stringContaining("gateway.execute"),
    });
    const options = { idempotency_key: "rules-731" };
    expect(await execute(tool_id, example, options)).toMatchObject({ success: true });
  });
  row("732", "A high risk needs a key and a scope.", async () => {
    const run = async (scopes: string[], options: object): Promise<unknown> => {
      const args = { tool_id: CHARGE, params: card, options };
      const actor = { id: "someone", scopes };
      const call = await world.gateway.run({ tool: "gateway:gateway.execute", args, actor });
      const answer = JSON.parse(String(call.result?.content[0]?.["text"])) as JsonObject;
      return (answer["error"] as JsonObject | undefined)?.["code"];
    };
    const key = { idempotency_key: "rules-732" };
    expect(await run([], key)).toBe("SCOPE_REQUIRED");
    expect(await run(["payments:read"], key)).toBe("SCOPE_REQUIRED");
    expect(await run(["payments:write"], {})).toBe("IDEMPOTENCY_REQUIRED");
    expect(await run(["payments:*"], key)).toBeUndefined();
  });
  row("733", "A task that fits nothing well is answered with options and a question.", async () => {
    const answer = await ask("intent", {
      query: "people should receive reusable payments tomorrow",
    });
    expect(answer).toMatchObject({
      needs_selection: true,
      missing_inputs: [{ field: "tool_id", question: expect.stringMatching(/^Which of these do you mean/) }],
    });
    expect(answer).not.toHaveProperty("ready_to_execute");
  });
}
