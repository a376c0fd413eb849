import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject, Preset } from "../../core/mod.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { gateway as gatewayPreset } from "../../presets/gateway/mod.ts";
import { openGateway } from "../support/open-gateway.ts";
import { slowCatalog } from "../support/slow-catalog.ts";
import { faulty } from "../support/stdio-servers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test.each<[string, Preset, string, JsonObject]>([
  ["execute_tool", anygpt, "execute_tool", { server: "words", tool: "echo", arguments: { text: "hello" } }],
  ["list_tools", anygpt, "list_tools", { server: "words" }],
  ["search_tools", anygpt, "search_tools", { query: "echo" }],
  ["get_tool_details", anygpt, "get_tool_details", { server: "words", tool: "echo" }],
  ["gateway.execute", gatewayPreset, "gateway.execute", { tool_id: "words:echo", params: { text: "hello" } }],
])("%s waits for what its server has just said to be in the catalog", async (_, preset, name, args) => {
  vi.stubEnv("TOOLPIPE_HOME", await temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const slow = slowCatalog();
  const { command, args: own } = faulty("ok");
  const gateway = await openGateway(
    {
      preset,
      plugins: [slow.plugin],
      options: { sources: { mcpServers: { words: { command, args: own } } } },
    },
    { drainMs: 0 },
  );
  await expect.poll(slow.isReached, { timeout: 20_000 }).toBe(true);
  expect(gateway.catalog.tools("words")).toEqual([]);
  const tool = gateway.tools.find((each) => each.name === name);
  const call = gateway.run({ tool: tool?.id ?? "", args });
  await new Promise((resolve) => setTimeout(resolve, 50));
  slow.go();
  const settled = await call;
  expect(settled.ok && settled.result.isError !== true, JSON.stringify(settled)).toBe(true);
  expect(JSON.stringify(settled.ok && settled.result)).toMatch(/hello|echo/);
});
