import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "vitest";

import { realCatalog } from "../../support/real-catalog.ts";
import { writeFiles } from "../../support/temporary-folder.ts";

import type { Specification } from "../specification.ts";
import { configOption } from "./commands.ts";
import { exampleConfigs } from "./examples.ts";
import { measure, openLarge } from "./requirements.ts";
import { ask, countTokens, listMetaTools, run, world } from "./world.ts";

/** Returns the bytes in use, in the heap and beside it, after a collection of garbage. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Tokens of one message: five tools, a search, and the details of a tool. */
async function messageTokens(): Promise<number[]> {
  return [
    listMetaTools(),
    await ask("search_tools", { query: "create issue" }),
    await ask("get_tool_details", { server: "github", tool: "create_issue" }),
  ].map(countTokens);
}

/** Lines 1301 to 1355: figures. */
export function figureRows({ row, prose }: Specification): void {
  prose(
    1301,
    1303,
    1305,
    1311,
    1320,
    1327,
    1334,
    "1336-1338, 1340-1343",
    1345,
    "1347-1349",
    1351,
    "1353-1355",
  );

  row("1307-1309", "The definitions of a thousand real tools take more than 100,000 tokens.", ({ skip }) => {
    const catalog = realCatalog();
    if (catalog.length === 0) return skip("the collection of real tools is not at hand");
    expect(countTokens(catalog.slice(0, 1_000).map(({ server: _, ...tool }) => tool))).toBeGreaterThan(
      100_000,
    );
  });
  row("1313-1315", "Context, search and details take at most 400, 200 and 100 tokens.", async () => {
    const tokens = await messageTokens();
    for (const [index, most] of [400, 200, 100].entries()) expect(tokens[index]).toBeLessThanOrEqual(most);
  });
  row("1316-1318", "A message takes at most 700 tokens, less than a hundredth of 100,000.", async () => {
    const total = (await messageTokens()).reduce((sum, count) => sum + count);
    expect(total).toBeLessThanOrEqual(700);
    expect(1 - total / 100_000).toBeGreaterThanOrEqual(0.993);
  });

  row("1322", "The servers are listed within 50 ms.", async () => {
    expect(await measure(() => ask("list_mcp_servers"))).toBeLessThan(50);
  });
  row("1323", "A search takes less than 100 ms.", async () => {
    expect(await measure(() => ask("search_tools", { query: "create issue" }))).toBeLessThan(100);
  });
  row("1324", "Details take less than 50 ms.", async () => {
    const args = { server: "github", tool: "create_issue" };
    expect(await measure(() => ask("get_tool_details", args))).toBeLessThan(50);
  });
  row("1325", "A config is reloaded within 500 ms.", async () => {
    const { createDiscoveryEngine } = await import("../../../presets/anygpt/mod.ts");
    const engine = await createDiscoveryEngine(() => ({ enabled: true, toolRules: [] }));
    try {
      expect(await measure(() => engine.reload())).toBeLessThan(500);
    } finally {
      await engine.close();
    }
    expect((await run("config", "reload")).code).toBe(0);
  });

  row(
    "1329, 1331-1332",
    "1,000 servers with 10,000 tools are held in an index below 100 MB, and searched.",
    async () => {
      const { gateway, engine } = await openLarge(1_000, 10);
      try {
        const before = usedBytes();
        expect((await engine.searchTools("tool_777_3"))[0]?.tool).toBe("tool_777_3");
        expect(usedBytes() - before).toBeLessThan(100 * 2 ** 20);
        expect(await engine.listServers()).toHaveLength(1_000);
        expect(gateway.catalog.tools()).toHaveLength(10_000);
        expect(await measure(() => engine.searchTools("item of the shelf 512"))).toBeLessThan(100);
      } finally {
        await gateway.close();
      }
      const entries = Array.from({ length: 1_000 }, (_, index) => [
        `server-${index}`,
        { command: "none", disabled: true },
      ]);
      const option = await configOption("thousand", { mcpServers: Object.fromEntries(entries) });
      expect(JSON.parse((await run("list", "--json", option)).stdout).servers).toHaveLength(1_000);
    },
  );
  row("1330", "A server with 1,000 tools is listed and searched.", async () => {
    const { gateway, engine } = await openLarge(1, 1_000);
    try {
      expect(await engine.listTools("server-0")).toHaveLength(1_000);
      expect((await engine.searchTools("tool_0_999"))[0]?.tool).toBe("tool_0_999");
    } finally {
      await gateway.close();
    }
  });
  row("1339", "The four examples of configs are valid, and each is shown with its rules.", async () => {
    for (const [index, discovery] of exampleConfigs.entries()) {
      const text = `export default ${JSON.stringify({ discovery: { enabled: true, ...discovery } })};`;
      await writeFiles(world.project, { [`example-${index}.config.ts`]: text });
      const option = `--config=example-${index}.config.ts`;
      expect(await run("config", "validate", option)).toMatchObject({ code: 0 });
      const { stdout } = await run("config", "show", option);
      expect(stdout).toContain(`\nTool Rules (${discovery.toolRules.length}):\n`);
      expect(stdout).toContain(`\nSources (${discovery.sources.length}):\n`);
    }
  });
}
