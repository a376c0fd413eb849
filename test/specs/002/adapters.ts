import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { counts } from "./documents.ts";
import { ask, callTool, countTokens, described, execute, openSmall, paystackEntry, watch } from "./world.ts";

const inputs = (): Readonly<Record<string, JsonObject>> =>
  described("gateway.adapters").inputSchema["properties"] as Readonly<Record<string, JsonObject>>;
const adapters = async (args: object = {}): Promise<JsonObject[]> =>
  (await ask("adapters", args))["adapters"] as JsonObject[];
const ids = async (args: object): Promise<unknown[]> => (await adapters(args)).map(({ id }) => id);
const paystack = async (): Promise<JsonObject> => (await adapters({ id: "paystack" }))[0] as JsonObject;

/** Lines 259 to 312: gateway.adapters. */
export function adapterRows({ row, differs, added, prose }: Specification): void {
  prose(261, "265-268", 271, 273, 280, "282-289", "293-294", 308, 311);

  row(
    "263",
    "Every adapter is listed, in the order of the config, with what it can do where few are listed.",
    async () => {
      expect(await ids({})).toEqual(Object.keys(counts));
      for (const id of Object.keys(counts)) {
        const [adapter] = await adapters({ id });
        expect(adapter, id).toMatchObject({ capabilities: expect.arrayContaining([expect.any(String)]) });
      }
    },
  );
  row("269-270", "The tool is listed under its name and description.", () => {
    expect(described("gateway.adapters")).toMatchObject({
      name: "gateway.adapters",
      description: "List available service adapters and their capabilities.",
    });
  });
  row("272, 281", "The arguments are an object, of which nothing is required.", async () => {
    expect(described("gateway.adapters").inputSchema).toMatchObject({ type: "object", required: [] });
    expect(await callTool("gateway.adapters")).toMatchObject({ total: 18 });
  });
  row(
    "274-277",
    "category is one of six values, or a category that an adapter has; any other is refused.",
    async () => {
      expect(inputs()["category"]).toMatchObject({ type: "string" });
      const values = inputs()["category"]?.["enum"] as string[];
      for (const one of ["payments", "infrastructure", "analytics", "storage", "communication", "all"]) {
        expect(values).toContain(one);
        expect(await callTool("gateway.adapters", { category: one })).toHaveProperty("adapters");
      }
      expect(values).toContain("media");
      expect(await ids({ category: "infrastructure" })).toEqual(["ngrok-api"]);
      expect(await ids({ category: "all" })).toHaveLength(18);
      expect(await callTool("gateway.adapters", { category: "food" })).toMatchObject({
        error: { code: "INVALID_ARGUMENTS" },
      });
    },
  );
  row(
    "278",
    "capability chooses adapters that have it, declared or derived from tags and paths.",
    async () => {
      expect(inputs()["capability"]).toMatchObject({ type: "string" });
      expect(await ids({ capability: "bank transfers" })).toEqual(["paystack", "flutterwave-v3"]);
      expect(await ids({ capability: "parts" })).toContain("more-1");
    },
  );
  row("279", "country chooses adapters that list it, and those that are not restricted to any.", async () => {
    expect(inputs()["country"]).toMatchObject({ type: "string" });
    const inUganda = await ids({ country: "UG" });
    expect(inUganda).toContain("flutterwave-v3");
    expect(inUganda).not.toContain("paystack");
    expect(await ids({ country: "US" })).toContain("stripe-api-2024-04-10");
    expect(await ids({ country: "Nigeria" })).toContain("paystack");
  });
  row("290", "total is the number of adapters.", async () => {
    expect(await ask("adapters", { category: "payments" })).toMatchObject({ total: 18, returned: 3 });
  });
  row("291", "filters_applied repeats the filters.", async () => {
    const filters = { category: "payments", country: "NG" };
    expect(await ask("adapters", filters)).toMatchObject({ filters_applied: filters });
  });
  for (const [line, field, value] of [
    ["295", "id", "paystack"],
    ["296", "name", "Paystack"],
    ["297", "description", "Payment processing for African markets"],
    ["298", "category", "payments"],
    ["300", "supported_countries", ["NG", "GH", "ZA", "KE"]],
    ["302", "tool_count", 117],
    ["304", "auth_type", "bearer"],
    ["305", "status", "operational"],
  ] as const) {
    row(line, `An adapter has ${field}, which for Paystack is ${JSON.stringify(value)}.`, async () => {
      expect((await paystack())[field]).toEqual(value);
    });
  }
  row("299", "It has capabilities, among them those of the example.", async () => {
    const expected = ["card_payments", "bank_transfers", "subscriptions", "refunds"];
    expect((await paystack())["capabilities"]).toEqual(expect.arrayContaining(expected));
  });
  row("301", "It has currencies, among them those of the example.", async () => {
    expect((await paystack())["supported_currencies"]).toEqual(
      expect.arrayContaining(["NGN", "GHS", "ZAR", "KES"]),
    );
  });
  row("303", "tool_categories counts the tools of each category.", async () => {
    const { tool_categories } = await paystack();
    expect(tool_categories).toEqual({ transaction: 4, refund: 1, "transfer recipient": 1, parts: 111 });
  });
  row(
    "306",
    "common_operations are ids that can be executed; without an overlay they are derived.",
    async () => {
      const { common_operations } = await paystack();
      expect(common_operations).toEqual(["paystack:initialize-transaction", "paystack:verify-transaction"]);
      const [derived = {}] = await adapters({ id: "more-1" });
      const [first] = derived["common_operations"] as string[];
      expect(await execute(String(first), {}, { dry_run: true })).toMatchObject({ success: true });
    },
  );
  row("310", "next_step names gateway.intent and gateway.tools.", async () => {
    expect((await ask("adapters"))["next_step"]).toMatch(
      /^Use gateway\.intent with your task, or gateway\.tools to explore an adapter/,
    );
  });
  differs(
    "292, 299-301, 303-304, 306-307",
    "Every adapter of a list has all fields.",
    "A list of more than five has id, name, category, number of tools and status alone, since all fields of 18 adapters fill the context of an agent; the parameter id gives all of one.",
    async () => {
      const all = await ask("adapters");
      expect(Object.keys((all["adapters"] as object[])[0] ?? {})).toEqual([
        "id",
        "name",
        "category",
        "tool_count",
        "status",
      ]);
      expect(countTokens(all)).toBeLessThanOrEqual(1_200);
      expect(await paystack()).toHaveProperty("common_operations");
      expect((await adapters({ category: "payments" }))[0]).toHaveProperty("capabilities");
    },
  );
  added(
    "295-306",
    "The built-in facts belong to an adapter of any id whose document has the host or the title; its credential does not.",
    "The lines do not say where facts come from that a document lacks.",
    async () => {
      const gateway = await openSmall({ openapi: { adapters: { "my-payments": paystackEntry() } } });
      const { adapters } = await ask("adapters", {}, gateway);
      expect(adapters).toMatchObject([{ id: "my-payments", name: "Paystack", category: "payments" }]);
      const reference = await ask("reference", { topic: "my-payments" }, gateway);
      expect(reference["authentication"]).not.toHaveProperty("env_var");
      const args = { tool_id: "my-payments:list-transactions", params: {} };
      const sent = await watch(() => gateway.run({ tool: "gateway:gateway.execute", args }));
      expect(sent).toHaveLength(1);
      expect(JSON.stringify(sent)).not.toContain("sk_canary");
    },
  );
}
