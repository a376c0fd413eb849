import { expect, vi } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { Specification } from "../specification.ts";
import { checkFile, readRegistryFile } from "./registry-file.ts";
import {
  ask,
  CHARGE,
  callTool,
  card,
  connect,
  countTokens,
  execute,
  FIVE,
  listed,
  openSmall,
  post,
  serveIn,
  watch,
  world,
} from "./world.ts";

const task = { query: "charge a card in Nigeria" };

/** Lines 548 to 591: pitfalls, order, figures, compatibility. */
export function planRows({ row, prose }: Specification): void {
  prose("550-552", 562, "573-575", 584);

  row(
    "554",
    "The same request has the same answer, ranked by tags, facts and words above a threshold.",
    async () => {
      const [first, second] = [await ask("intent", task), await ask("intent", task)];
      expect(second).toEqual(first);
      expect(await ask("intent", { query: "bake bread" })).toMatchObject({ needs_selection: true });
    },
  );
  row("555", "Drift shows: a registry of another version or time is refused.", async () => {
    await expect(checkFile((registry) => ({ ...registry, schema_version: "0.9.0" }))).rejects.toThrow(
      "version",
    );
    await expect(checkFile((registry) => ({ ...registry, last_verified_at: "some day" }))).rejects.toThrow(
      "verified",
    );
  });
  row("556", "Risk, confirmation and keys are enforced, not only declared.", async () => {
    const before = world.received.length;
    expect(await execute(CHARGE, card)).toMatchObject({ success: false });
    expect(await execute("paystack:delete-transfer-recipient", { code: "R" })).toMatchObject({
      success: false,
    });
    expect(world.received).toHaveLength(before);
  });
  row("557", "There is one tool to search, with adapter as an optional parameter.", async () => {
    const named = await ask("intent", { ...task, adapter: "paystack" });
    expect(named["recommended"]).toMatchObject({ adapter: "paystack" });
    expect(
      listed().filter(({ inputSchema }) => JSON.stringify(inputSchema).includes('"query"')),
    ).toHaveLength(1);
  });
  row(
    "558",
    "Lazy mode, the default, hides the 1,604 operations from the list, and does not call them by name.",
    async () => {
      await expect(world.client.callTool({ name: "list-transactions", arguments: {} })).rejects.toThrow(
        'There is no tool "list-transactions"',
      );
    },
  );

  row("564", "The registry is made of the adapters that there are.", async () => {
    const { operations } = await readRegistryFile();
    const adapters = new Set(Object.values(operations).map(({ adapter }) => adapter));
    expect(adapters.size).toBe(18);
  });
  row("565", "The five tools answer.", async () => {
    expect(await callTool("gateway.intent", task)).toHaveProperty("recommended");
    expect(await callTool("gateway.adapters")).toHaveProperty("adapters");
    expect(await callTool("gateway.tools", { adapter: "paystack" })).toHaveProperty("tools");
    expect(await callTool("gateway.reference", { topic: "paystack" })).toHaveProperty("overview");
    const read = { tool_id: "paystack:list-transactions", params: {} };
    expect(await callTool("gateway.execute", read)).toMatchObject({ success: true });
  });
  row("566", "Lazy mode is chosen by MCP_TOOL_MODE, which goes before the config.", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "lazy");
    expect(listed(await openSmall({ discovery: { mode: "full" } }))).toHaveLength(5);
  });
  row("567", "Execution refuses what lacks a key, and what lacks a confirmation.", async () => {
    expect(await execute(CHARGE, card)).toMatchObject({ error: { code: "IDEMPOTENCY_REQUIRED" } });
    expect(await execute("paystack:delete-transfer-recipient", { code: "R" })).toMatchObject({
      error: { code: "CONFIRMATION_REQUIRED" },
    });
  });
  row("568", "Matches have a confidence, by which they are ranked.", async () => {
    const { recommended, alternatives } = (await ask("intent", task)) as Record<string, JsonObject[]>;
    const all = [recommended, ...(alternatives ?? [])] as unknown as { confidence: number }[];
    expect(all.length).toBeGreaterThan(1);
    for (const [index, { confidence }] of all.entries())
      expect(confidence).toBeLessThanOrEqual(all[index - 1]?.confidence ?? 1);
  });
  row("569", "An agent is told how to begin: the instructions name the five tools and the adapters.", () => {
    expect(world.client.getInstructions()).toMatch(
      /^1604 operations of 18 adapters.*stripe-api-2024-04-10 \(457\).*gateway\.intent.*gateway\.execute/,
    );
  });

  row("577", "A client that had 1,604 tools sees 5.", async () => {
    const { url } = await serveIn("full");
    expect((await (await connect(url)).listTools()).tools).toHaveLength(1604);
    expect((await world.client.listTools()).tools.map(({ name }) => name)).toEqual(FIVE);
  });
  row("578", "One call finds the operation.", async () => {
    const { recommended } = await ask("intent", { query: "charge authorization" });
    expect(recommended).toMatchObject({ tool_id: CHARGE });
  });
  row(
    "579",
    "The five definitions take at most 900 tokens of the context, the path to an executed call at most 1,600 more.",
    async () => {
      expect(countTokens((await world.client.listTools()).tools)).toBeLessThanOrEqual(900);
      const found = await ask("intent", { query: "charge authorization" });
      const done = await execute(CHARGE, card, { idempotency_key: "plan-579" });
      expect(countTokens(found) + countTokens(done)).toBeLessThanOrEqual(1_600);
    },
  );
  row("580", "A further adapter is an entry of the config, and no code.", async () => {
    const document = `${world.folder}/more-1.json`;
    const mine = { document, server: world.api, allowPrivate: true };
    const gateway = await openSmall({ openapi: { adapters: { mine } } });
    expect(await ask("adapters", {}, gateway)).toMatchObject({ adapters: [{ id: "mine", tool_count: 46 }] });
  });

  row("586", "POST /api/adapters/{adapter}/tools/{tool} is served in lazy mode too.", async () => {
    expect(await post("/api/adapters/paystack/tools/list-transactions", {})).toMatchObject({
      status: 200,
      success: true,
      data: { status: true },
    });
  });
  row(
    "587",
    "Full mode is there, and an operation is called by its name, with the same refusals.",
    async () => {
      vi.stubEnv("MCP_TOOL_MODE", "full");
      const gateway = await openSmall();
      expect(listed(gateway).map(({ name }) => name)).toContain("list-transactions");
      const call = await gateway.run({ tool: "paystack:charge-authorization", args: card });
      expect(call.ok).toBe(false);
    },
  );
  row(
    "588",
    "An adapter's document stays as it is: names and paths of its operations are its own.",
    async () => {
      const [request] = await watch(() => execute("paystack:list-transactions", {}));
      expect(request).toMatchObject({ method: "GET", url: "/transaction" });
    },
  );
  row("589", "Without the five tools, every operation works as before.", async () => {
    const call = await world.gateway.run({ tool: "paystack:list-transactions" });
    expect(call.ok && call.result.structuredContent).toMatchObject({ status: true });
  });
}
