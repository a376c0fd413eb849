import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { type JsonObject, localTools, textResult } from "../../../core/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { readRegistryFile } from "./registry-file.ts";
import { ask, execute, FIVE, listed, openSmall, post, serveIn, startProcess, world } from "./world.ts";

const hidden = localTools("hidden", { id: "hidden", builtin: true }, [
  { name: "peek", inputSchema: { type: "object" }, run: () => textResult("seen") },
]);

/** Lines 593 to 640: one process, the catalog as the truth, five tools. */
export function hardeningRows({ row, prose }: Specification): void {
  prose("593-595", 598, 609, 612, 616, 627);

  row("596, 605", "MCP and REST are served by one process at one port.", async () => {
    const { url, child } = await serveIn("lazy");
    const rest = await fetch(new URL("/api/adapters", url));
    expect(await rest.json()).toMatchObject({ total: 18 });
    const mcp = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(await mcp.json()).toMatchObject({ jsonrpc: "2.0" });
    expect(child.exitCode).toBeNull();
  });
  row(
    "599-600",
    "REST and MCP share who may call: a gateway with tokens refuses both without one.",
    async () => {
      const { url } = await startProcess({ auth: { tokens: [] } });
      for (const path of [url.pathname, "/api/adapters/paystack/tools/list-transactions"]) {
        const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
        expect((await fetch(new URL(path, url), request)).status).toBe(401);
      }
    },
  );
  row("601", "They share the adapters: an operation that one lists is executed by the other.", async () => {
    const { tools } = (await ask("tools", { adapter: "paystack", search: "verify" })) as {
      tools: JsonObject[];
    };
    const name = String(tools[0]?.["tool_id"]).split(":")[1];
    expect(await post(`/api/adapters/paystack/tools/${name}`, { reference: "r1" })).toMatchObject({
      status: 200,
    });
  });
  row("602", "They share the records: both ways are in one audit.", async () => {
    const before = world.records.length;
    await execute("paystack:list-transactions", {});
    await post("/api/adapters/paystack/tools/list-transactions", {});
    const targets = world.records.slice(before).map((record) => (record as unknown as JsonObject)["tool_id"]);
    expect(targets.filter((id) => id === "paystack:list-transactions").length).toBeGreaterThanOrEqual(2);
  });
  row("603", "They share the config: a rule that disables a tool holds for both.", async () => {
    const gateway = await openSmall({ rules: { toolRules: [{ pattern: ["list-*"], enabled: false }] } });
    const tool_id = "paystack:list-transactions";
    expect(await ask("execute", { tool_id, params: {} }, gateway)).toMatchObject({
      error: { code: "TOOL_DISABLED" },
    });
    const { tools } = (await ask("tools", { adapter: "paystack" }, gateway)) as { tools: JsonObject[] };
    expect(tools.map((tool) => tool["tool_id"])).not.toContain(tool_id);
  });

  row("610, 613", "The catalog in memory counts, and not a file that says something else.", async () => {
    const folder = await temporaryFolder({ "operations.json": '{"operations":{"gone:tool":{}}}' });
    const file = join(folder, "operations.json");
    const gateway = await openSmall({ registry: { path: file } });
    const call = { tool_id: "gone:tool", params: {} };
    expect(await ask("execute", call, gateway)).toMatchObject({ error: { code: "TOOL_NOT_FOUND" } });
    expect(await readFile(file, "utf8")).not.toContain("gone:tool");
  });
  row(
    "614, 620",
    "operations.json is optional: without a path, none is written, and everything works.",
    async () => {
      const before = readdirSync(process.cwd());
      const gateway = await openSmall();
      expect(await ask("intent", { query: "verify transaction" }, gateway)).toHaveProperty("recommended");
      expect(readdirSync(process.cwd())).toEqual(before);
    },
  );
  row(
    "617-619",
    "At the start the adapters are read, then the registry is made of the catalog.",
    async () => {
      const { operations } = await readRegistryFile();
      const { adapters } = (await ask("adapters")) as { adapters: JsonObject[] };
      const counted = adapters.map(({ tool_count }) => Number(tool_count)).reduce((a, b) => a + b);
      expect(Object.keys(operations)).toHaveLength(counted);
      expect(Object.keys(operations).toSorted()).toEqual(
        world.gateway.catalog
          .tools()
          .map(({ id }) => id)
          .toSorted(),
      );
    },
  );
  row("622-623", "An unknown tool_id is refused, unless debug mode is on.", async () => {
    const call = { tool_id: "hidden:peek", params: {} };
    expect(await ask("execute", call, await openSmall({}, [hidden]))).toMatchObject({
      error: { code: "TOOL_NOT_FOUND" },
    });
    const debugging = await openSmall({ discovery: { debug: true } }, [hidden]);
    expect(await ask("execute", call, debugging)).toMatchObject({ success: true, data: "seen" });
  });

  row(
    "628",
    "The operations are not listed beside the five tools, whatever expose or a client's name says.",
    async () => {
      for (const expose of ["tools", "both", "auto"]) {
        const gateway = await openSmall({ exposure: { expose } });
        expect(listed(gateway).map(({ name }) => name)).toEqual(FIVE);
      }
    },
  );
  for (const [line, name] of [
    ["630-632", "gateway.intent"],
    ["630-631, 633", "gateway.execute"],
    ["630-631, 634", "gateway.adapters"],
    ["630-631, 635", "gateway.tools"],
    ["630-631, 636", "gateway.reference"],
  ] as const) {
    row(line, `A client in lazy mode is listed ${name}, as one of five.`, async () => {
      const { tools } = await world.client.listTools();
      expect(tools).toHaveLength(5);
      expect(tools.map((tool) => tool.name)).toContain(name);
    });
  }
  row("638", "Full mode lists every operation, and says that it is for debugging.", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "full");
    const gateway = await openSmall();
    expect(listed(gateway)).toHaveLength(6);
    expect(gateway.services.mode?.().describe()).toContain("for debugging");
  });
  row("640", "Lazy mode is the default.", async () => {
    expect((await openSmall()).services.mode?.().name).toBe("lazy");
  });
}
