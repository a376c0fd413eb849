import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { ask, callTool, described } from "./world.ts";

const inputs = (): Readonly<Record<string, JsonObject>> =>
  described("gateway.tools").inputSchema["properties"] as Readonly<Record<string, JsonObject>>;

/** Lines 314 to 365: gateway.tools. */
export function toolRows({ row, prose }: Specification): void {
  prose(316, "320-323", 326, 328, 334, "336-343", "350-351", "360-361", 364);

  const page = (args: object = {}): Promise<JsonObject> => ask("tools", { adapter: "paystack", ...args });
  const names = async (args: object): Promise<unknown[]> =>
    ((await page(args))["tools"] as JsonObject[]).map(({ tool_id }) => tool_id);
  const first = async (): Promise<JsonObject> => ((await page())["tools"] as JsonObject[])[0] as JsonObject;

  row("318", "The tools of one adapter are listed, and of no other.", async () => {
    for (const id of await names({ limit: 50 })) expect(id).toMatch(/^paystack:/);
  });
  row("324-325", "The tool is listed under its name and description.", () => {
    expect(described("gateway.tools")).toMatchObject({
      name: "gateway.tools",
      description: "List available tools within a specific adapter.",
    });
  });
  row("327, 335", "The arguments are an object, of which adapter is required.", async () => {
    expect(described("gateway.tools").inputSchema).toMatchObject({ type: "object", required: ["adapter"] });
    expect(await callTool("gateway.tools", { limit: 3 })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS" },
    });
  });
  row("329", "adapter is the id of an adapter.", async () => {
    expect(inputs()["adapter"]).toEqual({ type: "string", description: "Adapter ID" });
    expect(await callTool("gateway.tools", { adapter: "paystak" })).toMatchObject({
      error: { code: "TOOL_NOT_FOUND", message: expect.stringContaining('"paystack"') },
    });
  });
  row("330", "category chooses tools of one category.", async () => {
    expect(inputs()["category"]).toEqual({ type: "string" });
    expect(await names({ category: "refund" })).toEqual(["paystack:create-refund"]);
  });
  row("331", "search chooses tools by words.", async () => {
    expect(inputs()["search"]).toEqual({ type: "string" });
    expect((await names({ search: "charge authorization" }))[0]).toBe("paystack:charge-authorization");
  });
  row("332", "limit is a whole number, 20 by default and 50 at most.", async () => {
    expect(inputs()["limit"]).toMatchObject({ type: "integer", default: 20, maximum: 50 });
    expect([(await names({})).length, (await names({ limit: 50 })).length]).toEqual([20, 50]);
    expect(await callTool("gateway.tools", { adapter: "paystack", limit: 51 })).toMatchObject({
      error: { code: "INVALID_ARGUMENTS" },
    });
  });
  row(
    "333",
    "offset is a whole number, 0 by default; pages do not overlap and leave nothing out.",
    async () => {
      expect(inputs()["offset"]).toMatchObject({ type: "integer", default: 0 });
      const pages = await Promise.all([0, 50, 100].map((offset) => names({ limit: 50, offset })));
      expect(new Set(pages.flat()).size).toBe(117);
    },
  );
  for (const [line, field, value] of [
    ["344", "adapter", "paystack"],
    ["345", "total_tools", 117],
    ["346", "returned", 20],
    ["347", "offset", 0],
    ["348", "categories", ["transaction", "refund", "transfer recipient", "parts"]],
  ] as const) {
    row(line, `The answer has ${field}, here ${JSON.stringify(value)}.`, async () => {
      expect((await page())[field]).toEqual(value);
    });
  }
  for (const [line, field, value] of [
    ["352", "tool_id", "paystack:initialize-transaction"],
    ["353", "name", "Initialize Transaction"],
    ["354", "description", "Create a new transaction."],
    ["355", "category", "transaction"],
    ["356", "method", "POST"],
    ["357", "risk_level", "medium"],
    ["358", "required_params", ["email", "amount"]],
    ["359", "optional_param_count", 5],
  ] as const) {
    row(line, `A tool has ${field}, as its document has it: ${JSON.stringify(value)}.`, async () => {
      expect((await first())[field]).toEqual(value);
    });
  }
  row(
    "363",
    "next_step says that gateway.intent gives the full schema of a tool_id, and it does.",
    async () => {
      expect((await page())["next_step"]).toMatch(/^Use gateway\.intent with a tool_id for full schema/);
      const { ready_to_execute: ready } = await ask("intent", { query: "paystack:initialize-transaction" });
      expect(Object.keys((ready as JsonObject)["param_schemas"] as object)).toHaveLength(7);
    },
  );
}
