import { join } from "node:path";
import { expect, vi } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { executeTool } from "../../../presets/gateway/execute.ts";
import { intentTool } from "../../../presets/gateway/intent.ts";
import { adaptersTool, toolsTool } from "../../../presets/gateway/lists.ts";
import { createIntentRanker, gateway as preset } from "../../../presets/gateway/mod.ts";
import { listLiveOperations } from "../../../presets/gateway/operations.ts";
import { createReferenceTool } from "../../../presets/gateway/reference.ts";
import { findRegistryFaults } from "../../../presets/gateway/registry.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { readRegistryFile } from "./registry-file.ts";
import {
  ask,
  CHARGE,
  card,
  FIVE,
  listed,
  openSmall,
  post,
  serveIn,
  startProcess,
  watch,
  world,
} from "./world.ts";

/** Lines 435 to 515: parts, files, variables and start. */
export function architectureRows({ row, differs, added, prose }: Specification): void {
  prose("437-443", "448-450", "454-458", 461, "463-467", "491-494", 501);

  row("444-447", "The layer is the five tools, which lead to the registry of operations.", () => {
    expect(world.gateway.tools.map(({ name }) => name)).toEqual(FIVE);
  });
  row("451-452", "The registry indexes 1,604 operations with tags, schemas and risk.", async () => {
    const { operation_count, operations } = await readRegistryFile();
    expect(operation_count).toBe(1604);
    for (const entry of Object.values(operations))
      expect(entry).toMatchObject({
        tags: expect.any(Array),
        input_schema: { type: "object" },
        risk_level: expect.stringMatching(/^(low|medium|high|destructive)$/),
      });
  });
  row("453", "It has the version of its form and the time at which it was verified.", async () => {
    const { schema_version, last_verified_at } = await readRegistryFile();
    expect(schema_version).toBe("1.0.0");
    expect(Date.parse(last_verified_at)).toBeGreaterThan(Date.parse("2026-01-01"));
  });
  row("459-460", "Behind it are the adapters, each with its number of tools.", async () => {
    const { adapters } = (await ask("adapters")) as { adapters: JsonObject[] };
    const own = Object.fromEntries(adapters.map(({ name, tool_count }) => [name, tool_count]));
    expect(own).toMatchObject({ Paystack: 117, Stripe: 457, Flutterwave: 108, ngrok: 217 });
  });
  row(
    "462",
    "POST /api/adapters/{adapter}/tools/{tool} executes an operation, past the same checks.",
    async () => {
      const path = "/api/adapters/paystack/tools/charge-authorization";
      const sent = await watch(async () => {
        expect(await post(path, card)).toMatchObject({
          status: 400,
          error: { code: "IDEMPOTENCY_REQUIRED" },
        });
        const answer = await post(path, card, { "idempotency-key": "architecture-462" });
        expect(answer).toMatchObject({ status: 200, success: true, tool_id: CHARGE });
      });
      expect(sent).toMatchObject([{ method: "POST", url: "/transaction/charge_authorization", body: card }]);
    },
  );
  differs(
    "470-488",
    "Entry, layer, five tools, registry, search and ranking are these files.",
    "They are modules of a preset with names of their own; a preset is a list of plugins and tools, so there is no file that registers.",
    async () => {
      const tools = [intentTool, executeTool, adaptersTool, toolsTool, createReferenceTool([])];
      expect(tools.map(({ name }) => name)).toEqual(FIVE);
      expect(preset).toMatchObject({ name: "gateway" });
      const faults = findRegistryFaults(await readRegistryFile(), listLiveOperations(world.gateway));
      expect(faults).toEqual([]);
      const ranker = createIntentRanker();
      ranker.update("paystack", world.gateway.catalog.tools("paystack"));
      const { hits } = await ranker.rank("charge authorization");
      expect(hits[0]?.tool.name).toBe("charge-authorization");
    },
  );

  row(
    "495",
    "MCP_TOOL_MODE is lazy for five tools, full for every operation, and nothing else.",
    async () => {
      vi.stubEnv("MCP_TOOL_MODE", "full");
      const full = listed(await openSmall()).map(({ name }) => name);
      expect(full).toContain("charge-authorization");
      expect(full).not.toContain("gateway.intent");
      vi.stubEnv("MCP_TOOL_MODE", "all");
      await expect(openSmall()).rejects.toThrow("MCP_TOOL_MODE");
    },
  );
  row("496", "MCP_REGISTRY_PATH names the file of the registry.", async () => {
    const file = join(await temporaryFolder(), "discovery", "registry", "operations.json");
    vi.stubEnv("MCP_REGISTRY_PATH", file);
    await openSmall();
    expect((await readRegistryFile(file)).operation_count).toBe(6);
  });
  row(
    "497",
    "MCP_SEARCH_MIN_CONFIDENCE is the confidence below which nothing is recommended, .5 by default.",
    async () => {
      const query = "charge a reusable card";
      expect(await ask("intent", { query: "charge" }, await openSmall())).toHaveProperty("recommended");
      vi.stubEnv("MCP_SEARCH_MIN_CONFIDENCE", "0.99");
      expect(await ask("intent", { query }, await openSmall())).toMatchObject({ needs_selection: true });
      vi.stubEnv("MCP_SEARCH_MIN_CONFIDENCE", "0.01");
      expect(await ask("intent", { query }, await openSmall())).toHaveProperty("recommended");
    },
  );
  row("498", "MCP_DEFAULT_LIMIT is the number of alternatives, 3 by default.", async () => {
    const count = async (): Promise<number> =>
      ((await ask("intent", { query: "transaction list" }, await openSmall()))["alternatives"] as object[])
        .length;
    expect(await count()).toBe(3);
    vi.stubEnv("MCP_DEFAULT_LIMIT", "2");
    expect(await count()).toBe(2);
  });
  row("504, 506-508", "Without MCP_TOOL_MODE, the five tools are registered.", async () => {
    expect(process.env["MCP_TOOL_MODE"]).toBeUndefined();
    expect(listed(await openSmall()).map(({ name }) => name)).toEqual(FIVE);
  });
  const printed =
    "The line goes to stderr, because over stdio stdout carries the protocol; it has the number of operations too.";
  differs("509", "Lazy mode prints that 5 meta-tools are registered.", printed, async () => {
    const lazy = await serveIn("lazy");
    expect(await lazy.line("MCP Discovery Layer")).toBe(
      "toolpipe: MCP Discovery Layer: 5 meta-tools registered, 1604 operations behind them",
    );
    expect(await readReadiness(lazy.url)).toMatchObject({ status: "ok", mode: "lazy" });
  });
  differs(
    "510-514",
    "Any other mode registers all tools and prints that, with their number.",
    printed,
    async () => {
      const full = await serveIn("full");
      expect(await full.line("MCP Full Mode")).toMatch(/^toolpipe: MCP Full Mode: 1604 tools registered/);
      expect(await readReadiness(full.url)).toMatchObject({ status: "ok", mode: "full" });
    },
  );
  added(
    "504-514",
    "Degraded mode, in which gateway.intent is off, prints that, and /readyz says it.",
    "The lines know two modes; the third comes with line 699.",
    async () => {
      const registry = join(await temporaryFolder({ "operations.json": "{}" }), "operations.json");
      const degraded = await startProcess({
        registry: { path: registry, write: false, onFailure: "degrade" },
      });
      expect(await degraded.line("degraded")).toMatch(
        /5 meta-tools registered, 1604 .*gateway\.intent is off/,
      );
      expect(await readReadiness(degraded.url)).toMatchObject({ mode: "degraded" });
    },
  );
}

async function readReadiness(url: URL): Promise<unknown> {
  return (await fetch(new URL("/readyz", url))).json();
}
