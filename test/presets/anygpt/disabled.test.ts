import { expect, test } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import { anygpt, writeAnygptInstructions } from "../../../presets/anygpt/mod.ts";
import { parseJson } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";

/** Opens a gateway with a server `jira` whose tools are disabled, and a server `files`. */
async function open(pattern: string): Promise<Gateway> {
  const gateway = await openGateway({
    preset: anygpt,
    options: { rules: { toolRules: [{ pattern: [pattern], enabled: false }] } },
  });
  const inputSchema = { type: "object" };
  await gateway.catalog.replace({ id: "jira" }, [
    { name: "create_ticket", description: "Create a ticket", inputSchema },
    { name: "delete_ticket", description: "Delete a ticket", inputSchema },
  ]);
  await gateway.catalog.replace({ id: "files" }, [
    { name: "read_file", description: "Read a file", inputSchema },
  ]);
  return gateway;
}

const ask = async (gateway: Gateway, tool: string, args: object): Promise<unknown> =>
  parseJson(await gateway.run({ tool: `anygpt:${tool}`, args }));

test("search_tools says how many disabled tools would have matched, and names none", async () => {
  const gateway = await open("*ticket");
  const answer = await ask(gateway, "search_tools", { query: "delete a ticket" });
  expect(answer).toMatchObject({ disabled: 2 });
  expect(JSON.stringify(answer)).not.toContain("ticket");
  expect(await ask(gateway, "search_tools", { query: "read a file", limit: 1 })).not.toHaveProperty(
    "disabled",
  );
  expect(
    await ask(gateway, "search_tools", { query: "delete a ticket", server: "files" }),
  ).not.toHaveProperty("disabled");
});

test("search_tools counts disabled tools as they are, after the catalog has changed too", async () => {
  const gateway = await open("delete*");
  const search = () => ask(gateway, "search_tools", { query: "delete a ticket" });
  expect(await search()).toMatchObject({ results: [{ tool: "create_ticket" }], disabled: 1 });
  await gateway.catalog.replace({ id: "jira" }, []);
  expect(await search()).not.toHaveProperty("disabled");
});

test("a server whose tools are all disabled is not taken for one without tools", async () => {
  const gateway = await open("*ticket");
  expect(await ask(gateway, "list_tools", { server: "jira" })).toEqual({
    server: "jira",
    tools: [],
    disabled: 2,
  });
  const unknown = await gateway.run({
    tool: "anygpt:execute_tool",
    args: { server: "jira", tool: "close_ticket", arguments: {} },
  });
  expect(JSON.stringify(unknown)).toContain("has no enabled tools: all 2 are disabled");
});

test("instructions tell that rules disable all tools", async () => {
  expect(writeAnygptInstructions(await open("*"))).toBe(
    "No tool can be used here: rules disable all 3 tools. list_mcp_servers lists their MCP servers.",
  );
});
