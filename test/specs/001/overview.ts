import { expect } from "vitest";
import { realCatalog } from "../../support/real-catalog.ts";
import { runMain } from "../../support/run-cli.ts";
import { startServe } from "../../support/start-serve.ts";
import type { Specification } from "../specification.ts";
import { arguments_, ask, countTokens, issue, listMetaTools, run, world } from "./world.ts";

const five = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"];

/** The path of an agent from a task to a created issue, with the tokens of each answer. */
async function createIssue(query: string) {
  const found = await ask("search_tools", { query });
  const details = await ask("get_tool_details", { server: "github", tool: "create_issue" });
  const args = { server: "github", tool: "create_issue", arguments: arguments_ };
  const call = await world.engine.gateway.run({ tool: "anygpt:execute_tool", args });
  const list = listMetaTools();
  const result = call.ok ? call.result : undefined;
  const tokens = [list, found, details, result].map(countTokens);
  return { found: found["results"] as { tool: string; relevance: number }[], details, result, tokens };
}

/** Lines 1 to 118: overview and architecture. */
export function overviewRows({ row, prose }: Specification): void {
  prose("1-5", 9, 13, 25, 27, 35, 39, "42-43, 48-53, 60-62, 69-71, 77-79, 86", 89, 91, "94-97", 109);

  row(
    "7, 11, 37",
    "Tools are found and described on request, for some hundred tokens in place of all definitions.",
    async () => {
      const { tokens } = await createIssue("github issue create");
      expect(tokens.slice(0, 3).reduce((sum, count) => sum + count)).toBeLessThan(700);
    },
  );

  row(
    "15-21, 44, 54-59",
    "An MCP client sees five meta-tools and nothing else, in about 500 tokens.",
    async () => {
      const serving = startServe([], { cwd: world.project, env: process.env });
      await serving.request("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "client", version: "1" },
      });
      const { result } = (await serving.request("tools/list")) as { result: { tools: { name: string }[] } };
      expect(result.tools.map(({ name }) => name)).toEqual(five);
      expect(countTokens(result)).toBeLessThan(500);
    },
  );

  row(
    "23, 45-47, 117",
    "An agent searches, loads details and executes, with no person in between.",
    async () => {
      const { found, details, result } = await createIssue("github issue create");
      expect(found[0]?.tool).toBe("create_issue");
      expect(details["parameters"]).toBeDefined();
      expect(result?.structuredContent).toEqual(issue);
    },
  );

  row("29-33", "The commands list, search, tools, inspect and execute exist under anygpt mcp.", async () => {
    const { stdout } = await runMain(["mcp", "--help"], "anygpt");
    for (const name of ["list", "search", "tools", "inspect", "execute"]) {
      expect(stdout).toMatch(new RegExp(`^\\s+${name}\\s`, "m"));
      expect((await run(name, "--help")).code).toBe(0);
    }
  });

  row(
    "63-68, 72-76, 80-85",
    "The engine imports sources, applies patterns, indexes, caches, and calls the servers behind it.",
    async () => {
      const servers = await world.engine.listServers();
      const counts = Object.fromEntries(servers.map(({ name, toolCount }) => [name, toolCount]));
      expect(counts).toMatchObject({ github: 15, filesystem: 8, database: 12 });
      expect(await world.engine.listTools("github")).toHaveLength(13);
      expect((await world.engine.searchTools("read file"))[0]?.tool).toBe("read_file");
      expect((await world.engine.executeTool("filesystem", "read_file", { path: "x" })).success).toBe(true);
    },
  );

  row(
    "98-99",
    'A search for "github issue create" gives the creating tool first, with a high relevance.',
    async () => {
      const [first] = (await ask("search_tools", { query: "github issue create" }))["results"] as object[];
      expect(first).toMatchObject({ server: "github", tool: "create_issue" });
      expect((first as { relevance: number }).relevance).toBeGreaterThan(0.8);
    },
  );

  row("100-101", "The details of a tool have its whole description and its parameters.", async () => {
    expect(await ask("get_tool_details", { server: "github", tool: "create_issue" })).toMatchObject({
      description: "Create a new GitHub issue in a repository",
      parameters: [{ name: "repo" }, { name: "title" }, { name: "body" }],
    });
  });

  row("102-107", "execute_tool returns what the server behind it answered.", async () => {
    const { result } = await createIssue("github issue create");
    expect(result).toMatchObject({ content: [{ text: "Issue #123 created" }], structuredContent: issue });
  });

  row(
    "110-113",
    "Context, search, details and execution cost at most 500, 200, 100 and 150 tokens.",
    async () => {
      const { tokens } = await createIssue("github issue create");
      for (const [index, most] of [500, 200, 100, 150].entries())
        expect(tokens[index]).toBeLessThanOrEqual(most);
    },
  );

  row("114", "The whole task costs at most 950 tokens, a hundredth of all definitions.", async ({ skip }) => {
    const total = (await createIssue("github issue create")).tokens.reduce((sum, count) => sum + count);
    expect(total).toBeLessThanOrEqual(950);
    const catalog = realCatalog();
    if (catalog.length === 0) return skip("the collection of real tools is not at hand");
    expect(total / countTokens(catalog.slice(0, 1_000))).toBeLessThan(0.01);
  });
}
