import { expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { serverDiscovery } from "../../../plugins/discovery/mod.ts";
import { types } from "../../../plugins/types/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { toldServer } from "../../specs/shared.ts";

test("outputs are introspected on a gateway whose catalog is empty, by reading tools alone", async () => {
  const told = toldServer(
    [
      { name: "list_issues", inputSchema: { type: "object" } },
      { name: "push_schema", inputSchema: { type: "object" } },
    ],
    { list_issues: { content: [], structuredContent: { total: 1 } } },
  );
  const gateway = await createGateway({
    preset: passthrough,
    plugins: [types(), serverDiscovery()],
    options: { sources: { mcpServers: { told } }, upstreams: { discover: "none", useCache: false } },
  });
  onTestFinished(() => gateway.close());
  const config = gateway.services.servers?.status("told")?.config as ServerConfig;
  expect(gateway.catalog.tools("told")).toEqual([]);
  const tools = await gateway.services.serverDiscovery?.discoverTools(config, {
    introspectOutputSchemas: true,
    lazyOutputSchemas: false,
  });
  expect(tools?.map(({ name, outputType }) => [name, outputType])).toEqual([
    ["list_issues", expect.stringContaining(":total :int")],
    ["push_schema", undefined],
  ]);
});
