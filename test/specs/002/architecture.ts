import { readFile } from "node:fs/promises";
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
import {
  ask,
  CHARGE,
  card,
  execute,
  FIVE,
  listed,
  openSmall,
  post,
  startProcess,
  watch,
  world,
} from "./world.ts";

interface Registry {
  readonly schema_version: string;
  readonly last_verified_at: string;
  readonly operation_count: number;
  readonly operations: Readonly<Record<string, JsonObject>>;
}

const readRegistry = async (file = world.registry): Promise<Registry> =>
  JSON.parse(await readFile(file, "utf8")) as Registry;

/** Lines 435 to 515: parts, files, variables and start. */
export function architectureRows({ row, differs, added }: Specification): void {
  row("444-447", "The layer is the five tools, which lead to the registry of operations.", () => {
    expect(world.gateway.tools.map(({ name }) => name)).toEqual(FIVE);
  });
  row("451-452", "The registry indexes 1,604 operations with tags, schemas and risk.", async () => {
    const { operation_count, operations } = await readRegistry();
    expect(operation_count).toBe(1604);
    for (const entry of Object.values(operations))
      expect(entry).toMatchObject({
        tags: expect.any(Array),
        input_schema: { type: "object" },
        risk_level: expect.stringMatching(/^(low|medium|high|destructive)$/),
      });
  });
  row("453", "It has the version of its form and the time at which it was verified.", async () => {
    const { schema_version, last_verified_at } = await readRegistry();
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
      const faults = findRegistryFaults(await readRegistry(), listLiveOperations(world.gateway));
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
    expect((await readRegistry(file)).operation_count).toBe(6);
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
  differs("509, 514", "Lazy mode prints that 5 meta-tools are registered.", printed, async () => {
    const lazy = await startProcess({});
    expect(await lazy.line("MCP Discovery Layer")).toBe(
      "toolpipe: MCP Discovery Layer: 5 meta-tools registered, 1604 operations behind them",
    );
    expect(await readiness(await lazy.line("serving"))).toMatchObject({ status: "ok", mode: "lazy" });
  });
  differs(
    "510-513",
    "Any other mode registers all tools and prints that, with their number.",
    printed,
    async () => {
      const full = await startProcess({}, { MCP_TOOL_MODE: "full" });
      expect(await full.line("MCP Full Mode")).toMatch(/^toolpipe: MCP Full Mode: 1604 tools registered/);
      expect(await readiness(await full.line("serving"))).toMatchObject({ status: "ok", mode: "full" });
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
      expect(await readiness(await degraded.line("serving"))).toMatchObject({ mode: "degraded" });
    },
  );
}

async function readiness(line: string): Promise<unknown> {
  const address = /http:\S+/.exec(line)?.[0] ?? "";
  return (await fetch(new URL("/readyz", address))).json();
}

/** Lines 519 to 546: the registry. */
export function registryRows({ row, differs }: Specification): void {
  const charge = async (): Promise<JsonObject> => (await readRegistry()).operations[CHARGE] as JsonObject;

  row("523", "The registry has the version 1.0.0 of its form.", async () => {
    expect((await readRegistry()).schema_version).toBe("1.0.0");
  });
  row("524", "It has the time of its verification.", async () => {
    expect((await readRegistry()).last_verified_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });
  row("525", "It counts its operations.", async () => {
    const { operation_count, operations } = await readRegistry();
    expect([operation_count, Object.keys(operations).length]).toEqual([1604, 1604]);
  });
  row("526-527", "Its operations are entries by tool_id, each of which can be called.", async () => {
    for (const id of Object.keys((await readRegistry()).operations).slice(0, 5))
      expect(await execute(id, {}, { dry_run: true })).not.toMatchObject({
        error: { code: "TOOL_NOT_FOUND" },
      });
    expect(await charge()).toBeDefined();
  });
  for (const [line, field, value] of [
    ["528", "adapter", "paystack"],
    ["529", "tool", "charge-authorization"],
    ["532", "method", "POST"],
    ["533", "path", "/transaction/charge_authorization"],
    ["535", "required_params", ["email", "amount", "authorization_code"]],
    ["537", "risk_level", "high"],
    ["538", "idempotent", true],
    ["539", "reversible", false],
    ["540", "requires_confirmation", false],
  ] as const) {
    row(line, `An entry has ${field}, for charging a card ${JSON.stringify(value)}.`, async () => {
      expect((await charge())[field]).toEqual(value);
    });
  }
  row("530", "It has the description of the document, without the name before it.", async () => {
    expect((await charge())["description"]).toMatch(/^Charge all authorizations marked as reusable/);
  });
  row("531", "It has tags: category, resource, country and currency.", async () => {
    expect((await charge())["tags"]).toEqual(
      expect.arrayContaining(["payments", "transaction", "nigeria", "ngn"]),
    );
  });
  row("534", "It has the schema of its parameters.", async () => {
    expect((await charge())["input_schema"]).toMatchObject({
      type: "object",
      properties: { amount: { type: "integer" } },
    });
  });
  row("536", "It lists the optional parameters.", async () => {
    const expected = ["reference", "currency", "metadata"];
    expect((await charge())["optional_params"]).toEqual(expect.arrayContaining(expected));
  });
  row("541", "It has an example of a request, which passes the check.", async () => {
    const { example_request } = await charge();
    expect(await execute(CHARGE, example_request as object, { dry_run: true })).toMatchObject({
      success: true,
    });
  });
  differs(
    "542",
    "common_errors is a list of codes.",
    "Each has its code, its meaning and a fix, as the errors of gateway.reference have (line 425): a code alone does not help.",
    async () => {
      const errors = (await charge())["common_errors"] as JsonObject[];
      expect(errors).toContainEqual(
        expect.objectContaining({
          code: "invalid_key",
          meaning: expect.any(String),
          fix: expect.any(String),
        }),
      );
    },
  );
}
