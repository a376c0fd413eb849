import { expect, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { anygpt, describeAnygptTools, writeAnygptInstructions } from "../../../presets/anygpt/mod.ts";
import { parseJson } from "../../support/failure.ts";
import { openCatalog, sampleCatalog } from "../_anygpt-catalog.ts";

const five = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"];
const rules = { toolRules: [{ pattern: ["delete_*"], enabled: false }] };

test("search_tools lists the servers to search, those with most tools first, disabled ones not counted", async () => {
  const gateway = await openCatalog(sampleCatalog, { rules });
  const tools = describeAnygptTools(gateway);
  expect(tools.map(({ name }) => name)).toEqual(five);
  expect(tools[1]?.description).toBe(
    "Search 8 tools of 3 MCP servers by free text: filesystem (4), github (3), time (1)",
  );
  expect(gateway.tools[1]?.description).toBe("Search tools of all MCP servers by free text");
  expect(tools.map(({ inputSchema }) => inputSchema)).toEqual(
    gateway.tools.map(({ inputSchema }) => inputSchema),
  );
});

test("the instructions say what is there and how it is used, the same for the same catalog", async () => {
  const gateway = await openCatalog(sampleCatalog, { rules });
  const again = await openCatalog(sampleCatalog.toReversed(), { rules });
  expect(writeAnygptInstructions(gateway)).toMatch(
    /^8 tools of 3 MCP servers can be used here: filesystem \(4\), github \(3\), time \(1\)\. /,
  );
  for (const name of ["search_tools", "get_tool_details", "execute_tool"]) {
    expect(writeAnygptInstructions(gateway)).toContain(name);
  }
  expect(writeAnygptInstructions(again)).toBe(writeAnygptInstructions(gateway));
  expect(anygpt.instructions?.(gateway)).toBe(writeAnygptInstructions(gateway));
});

test("both report that there is nothing to search", async () => {
  const gateway = await openCatalog([]);
  expect(describeAnygptTools(gateway)[1]?.description).toBe("Search tools of all MCP servers by free text");
  expect(writeAnygptInstructions(gateway)).toContain("list_mcp_servers");
});

test("the preset has them for whatever serves a gateway", async () => {
  const gateway = await openCatalog(sampleCatalog);
  expect(anygpt.describe?.(gateway)).toEqual(describeAnygptTools(gateway));
  expect(anygpt.instructions?.(gateway)).toBe(writeAnygptInstructions(gateway));
});

test("they work where the plugin was taken out", async () => {
  const gateway = await createGateway({ preset: { ...anygpt, plugins: [] } });
  expect(describeAnygptTools(gateway).map(({ name }) => name)).toEqual(five);
  await gateway.close();
});

test("pinned tools stand beside the five, under names of their own", async () => {
  const tools = [...sampleCatalog, { server: "index", name: "search_tools", inputSchema: {} }];
  const pinned = [
    "github:create_issue",
    "index:search_tools",
    "github:delete_repository",
    "github:nothing",
    "anygpt:list_tools",
  ];
  const gateway = await openCatalog(tools, { rules, answers: { pinned } });
  const extra = describeAnygptTools(gateway).slice(5);
  expect(extra.map(({ name, id }) => [name, id])).toEqual([
    ["create_issue", "github:create_issue"],
    ["index__search_tools", "index:search_tools"],
  ]);
  expect(extra[0]?.inputSchema).toEqual(sampleCatalog[0]?.inputSchema);
});

test("structured answers match their schema, and come only on request", async () => {
  const gateway = await openCatalog(sampleCatalog, { rules, answers: { structured: true } });
  const { Validator } = await import("@cfworker/json-schema");
  const listed = new Map(describeAnygptTools(gateway).map((tool) => [tool.name, tool]));
  const asked: [string, object][] = [
    ["list_mcp_servers", {}],
    ["search_tools", { query: "file" }],
    ["list_tools", { server: "github", includeDisabled: true }],
    ["get_tool_details", { server: "github", tool: "create_issue", examples: true }],
  ];
  for (const [tool, args] of asked) {
    const call = await gateway.run({ tool: `anygpt:${tool}`, args });
    const { outputSchema } = listed.get(tool) ?? {};
    expect(outputSchema).toBeDefined();
    expect(call.result?.structuredContent).toEqual(parseJson(call));
    expect(new Validator(outputSchema as object).validate(call.result?.structuredContent).errors).toEqual([]);
  }
  expect(listed.get("execute_tool")).not.toHaveProperty("outputSchema");
  const plain = await openCatalog(sampleCatalog);
  expect(describeAnygptTools(plain).some((tool) => "outputSchema" in tool)).toBe(false);
  const call = await plain.run({ tool: "anygpt:list_mcp_servers" });
  expect(call.result).not.toHaveProperty("structuredContent");
});

test("a list of very many tools shortens what they do, and reports how many more there are and how to find them", async () => {
  const tools = Array.from({ length: 300 }, (_, index) => ({
    server: "many",
    name: `tool_${index}`,
    description: "Does one of the many things that can be done with it, and does it very well indeed.",
    inputSchema: {},
  }));
  const gateway = await openCatalog(tools);
  const {
    tools: listed,
    more,
    next,
  } = parseJson(await gateway.run({ tool: "anygpt:list_tools", args: { server: "many" } })) as {
    tools: { name: string; summary: string }[];
    more: number;
    next: string;
  };
  expect(listed.length).toBeGreaterThan(50);
  expect(listed.length + more).toBe(300);
  expect(next).toContain('search_tools with server "many"');
  for (const { summary } of listed) expect(summary).toMatch(/^Does one of.*…$/);
});

test("a list of servers shows how many tools are enabled", async () => {
  const gateway = await openCatalog(sampleCatalog, { rules });
  expect(parseJson(await gateway.run({ tool: "anygpt:list_mcp_servers" }))).toEqual({
    servers: [
      { name: "github", description: "", toolCount: 4, enabledCount: 3, status: "connected" },
      { name: "filesystem", description: "", toolCount: 4, enabledCount: 4, status: "connected" },
      { name: "time", description: "", toolCount: 1, enabledCount: 1, status: "connected" },
    ],
  });
});
