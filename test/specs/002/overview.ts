import { expect, vi } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { ask, callTool, card, described, execute, FIVE, listed, openSmall, world } from "./world.ts";

/** The five tools, with a line of the table each. */
const tools = [
  ["56", "gateway.intent", "Find the right tool for your task.", ["query"]],
  ["57", "gateway.execute", "Execute a specific tool.", ["tool_id", "params"]],
  ["58", "gateway.adapters", "List available service adapters", []],
  ["59", "gateway.tools", "List available tools within a specific adapter.", ["adapter"]],
  ["60", "gateway.reference", "Get documentation, examples, and usage guides.", ["topic"]],
] as const;

/** Lines 1 to 60: the problem, the five tools, and the principles. */
export function overviewRows({ row, prose }: Specification): void {
  prose("1-10", "18-20", 32, 36, 44, "52-54");

  row("12, 28", "1,604 operations of 18 adapters are served at once.", async () => {
    const { total, adapters } = (await ask("adapters")) as { total: number; adapters: JsonObject[] };
    expect(total).toBe(18);
    expect(adapters.reduce((sum, { tool_count }) => sum + Number(tool_count), 0)).toBe(1604);
  });
  row("14", "An agent sees five definitions in place of all operations.", async () => {
    const list = await world.client.listTools();
    expect(JSON.stringify(list.tools).length).toBeLessThan(4_000);
  });
  row("15", "Of all operations, at most a handful of fitting ones is offered.", async () => {
    const answer = await ask("intent", { query: "charge a card in Nigeria" });
    expect(answer["recommended"]).toMatchObject({ tool: expect.stringContaining("charge") });
    expect((answer["alternatives"] as object[]).length).toBeLessThanOrEqual(3);
  });
  row("16, 42", "An agent that follows next_step from nothing comes to an executed operation.", async () => {
    const adapters = await ask("adapters", { id: "paystack" });
    expect(adapters["next_step"]).toContain("gateway.intent");
    const intent = await ask("intent", { query: "verify transaction", adapter: "paystack" });
    expect(intent["next_step"]).toContain("gateway.execute");
    const { tool_id, example } = intent["ready_to_execute"] as { tool_id: string; example: object };
    expect(await execute(tool_id, example)).toMatchObject({ success: true, next_step: expect.any(String) });
  });
  for (const [line, id, count, type] of [
    ["22", "stripe-api-2024-04-10", 457, "bearer"],
    ["23", "ngrok-api", 217, "bearer"],
    ["24", "paystack", 117, "bearer"],
    ["25", "flutterwave-v3", 108, "bearer"],
    ["26", "shutterstock-api", 109, "oauth2"],
  ] as const) {
    row(line, `The adapter ${id} has ${count} tools and authenticates by ${type}.`, async () => {
      const { adapters } = await ask("adapters", { id });
      expect(adapters).toMatchObject([{ id, tool_count: count, auth_type: type }]);
    });
  }
  row("27", "13 more adapters have 596 tools.", async () => {
    const { adapters } = (await ask("adapters")) as { adapters: JsonObject[] };
    const others = adapters.filter(({ id }) => String(id).startsWith("more-"));
    expect(others).toHaveLength(13);
    expect(others.reduce((sum, { tool_count }) => sum + Number(tool_count), 0)).toBe(596);
  });
  row("34", "Five meta-tools lead to all operations.", () => {
    expect(listed().map(({ name }) => name)).toEqual(FIVE);
  });
  row("38", "A task in plain words is answered with an operation that can be executed.", async () => {
    expect(await ask("intent", { query: "charge a card in Nigeria" })).toMatchObject({
      ready_to_execute: { tool_id: expect.stringMatching(/^(paystack|flutterwave-v3):charge-/) },
    });
  });
  row("39", "What an intent answers suffices for the call: no schema is looked up in between.", async () => {
    const { ready_to_execute: ready } = await ask("intent", { query: "charge authorization" });
    const { tool_id, required_params } = ready as { tool_id: string; required_params: string[] };
    const params = Object.fromEntries(required_params.map((name) => [name, card[name]]));
    expect(await execute(tool_id, params, { idempotency_key: "overview-39" })).toMatchObject({
      success: true,
    });
  });
  row("40", "Every recommendation has a confidence and a reason.", async () => {
    const { recommended, alternatives } = await ask("intent", { query: "charge a card in Nigeria" });
    for (const one of [recommended, ...(alternatives as object[])] as JsonObject[]) {
      expect(one["confidence"]).toBeGreaterThan(0);
      expect(one["confidence"]).toBeLessThanOrEqual(1);
      expect(one["why"]).toMatch(/Matches ".+"/);
    }
  });
  row("41", "All adapters are searched, or the one that is named.", async () => {
    const everywhere = await ask("intent", { query: "charge a card" });
    expect(everywhere["search_context"]).toMatchObject({ mode: "global" });
    const one = await ask("intent", { query: "charge a card", adapter: "paystack" });
    expect(one["search_context"]).toMatchObject({ mode: "adapter-specific", matched_adapters: ["paystack"] });
  });
  row("46-47", "The tools are there beside the REST API, which serves the same operations.", async () => {
    const response = await fetch(`${world.origin}/api/adapters`);
    expect(await response.json()).toMatchObject({ total: 18 });
  });
  row("48", "MCP_TOOL_MODE chooses between five tools and all operations.", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "full");
    expect(listed(await openSmall())).toHaveLength(6);
    vi.stubEnv("MCP_TOOL_MODE", "lazy");
    expect(listed(await openSmall())).toHaveLength(5);
  });
  for (const [line, name, purpose, inputs] of tools) {
    row(line, `${name} is for this: ${purpose} Required: ${inputs.join(", ") || "nothing"}.`, async () => {
      const { description, inputSchema } = described(name);
      expect(description).toContain(purpose);
      expect(inputSchema["required"]).toEqual(inputs);
      const answer = await callTool(name);
      if (inputs.length === 0) return expect(answer).toHaveProperty("adapters");
      expect(answer).toMatchObject({
        success: false,
        error: { code: "INVALID_ARGUMENTS", message: expect.stringContaining(inputs.at(-1) ?? "") },
        next_step: expect.stringContaining(name),
      });
    });
  }
}
