import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { ask, CHARGE, callTool, described, execute } from "./world.ts";

const task = "charge a card in Nigeria";
const properties = (): Readonly<Record<string, JsonObject>> =>
  described("gateway.intent").inputSchema["properties"] as Readonly<Record<string, JsonObject>>;
const context = (): Readonly<Record<string, JsonObject>> =>
  properties()["context"]?.["properties"] as Readonly<Record<string, JsonObject>>;
/** Lines 64 to 105: what gateway.intent takes. */
export function intentRows({ row, prose }: Specification): void {
  prose("64-66", "70-73", 76, 78, 95, 101, "103-104");

  row(
    "68",
    "A task in plain words leads to an operation that can be called as it is described.",
    async () => {
      const { ready_to_execute: described } = await ask("intent", { query: "verify transaction" });
      const { tool_id, example } = described as { tool_id: string; example: object };
      expect(await execute(tool_id, example)).toMatchObject({ success: true });
    },
  );
  row("74-75", "The tool is listed under its name and description.", () => {
    expect(described("gateway.intent")).toMatchObject({
      name: "gateway.intent",
      description: "Find the right tool for your task. Describe what you want to do in natural language.",
    });
  });
  row("77, 102", "The arguments are an object, of which query is required.", async () => {
    expect(described("gateway.intent").inputSchema).toMatchObject({ type: "object", required: ["query"] });
    expect(await callTool("gateway.intent", { adapter: "paystack" })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS", message: expect.stringContaining("query") },
    });
  });
  row(
    "79-82",
    "query is a string, described by the specification's example, which finds an operation.",
    async () => {
      expect(properties()["query"]).toEqual({
        type: "string",
        description: "What you want to accomplish (e.g., 'charge a card in Nigeria')",
      });
      expect(await callTool("gateway.intent", { query: 7 })).toMatchObject({ success: false });
      expect(await ask("intent", { query: task })).toHaveProperty("recommended");
    },
  );
  row("83-86", "adapter is an optional string that limits the search to one adapter.", async () => {
    expect(properties()["adapter"]).toEqual({
      type: "string",
      description: "Optional: Limit search to specific adapter (e.g., 'paystack')",
    });
    const { search_context } = await ask("intent", { query: task, adapter: "paystack" });
    expect(search_context).toMatchObject({ matched_adapters: ["paystack"] });
    expect(await callTool("gateway.intent", { query: task, adapter: "paystak" })).toMatchObject({
      error: { code: "TOOL_NOT_FOUND", message: expect.stringContaining('Did you mean "paystack"?') },
    });
  });
  row("87-90, 94", "context is an optional object that improves the match.", async () => {
    expect(properties()["context"]).toMatchObject({
      type: "object",
      description: "Optional: Additional context to improve matching",
    });
    const without = await ask("intent", { query: task, adapter: "paystack" });
    const given = { query: task, adapter: "paystack", context: { country: "NG" } };
    const confidence = ({ recommended }: JsonObject) => (recommended as JsonObject)["confidence"] as number;
    expect(confidence(await ask("intent", given))).toBeGreaterThan(confidence(without));
  });
  row("91", "A currency prefers adapters that list it.", async () => {
    expect(context()["currency"]).toEqual({ type: "string" });
    const { recommended } = await ask("intent", { query: task, context: { currency: "ghs" } });
    expect(recommended).toMatchObject({ why: expect.stringMatching(/lists ghs/) });
    const foreign = await ask("intent", { query: CHARGE, context: { currency: "JPY" } });
    expect(foreign["recommended"]).toMatchObject({ why: expect.stringContaining("does not list JPY") });
  });
  row("92", "A country prefers adapters that list it, by code or name.", async () => {
    expect(context()["country"]).toEqual({ type: "string" });
    for (const country of ["NG", "Nigeria"]) {
      const { recommended } = await ask("intent", { query: task, context: { country } });
      expect(recommended).toMatchObject({ why: expect.stringContaining(`lists ${country}`) });
    }
  });
  row("93", "use_case is one of three values.", async () => {
    expect(context()["use_case"]).toEqual({
      type: "string",
      enum: ["one-time", "subscription", "marketplace"],
    });
    for (const use_case of ["one-time", "subscription", "marketplace"])
      expect(await callTool("gateway.intent", { query: task, context: { use_case } })).not.toHaveProperty(
        "error",
      );
    expect(await callTool("gateway.intent", { query: task, context: { use_case: "once" } })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS" },
    });
  });
  row("96-100", "limit is a whole number of alternatives, 3 by default.", async () => {
    expect(properties()["limit"]).toMatchObject({
      type: "integer",
      default: 3,
      description: "Max number of alternatives to return",
    });
    const count = async (limit?: number) =>
      ((await ask("intent", { query: task, ...(limit && { limit }) }))["alternatives"] as object[]).length;
    expect([await count(), await count(1), await count(5)]).toEqual([3, 1, 5]);
    expect(await callTool("gateway.intent", { query: task, limit: 1.5 })).toMatchObject({ success: false });
  });
}
