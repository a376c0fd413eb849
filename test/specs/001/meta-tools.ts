import { expect } from "vitest";
import type { JsonObject, SettledCall } from "../../../core/mod.ts";
import { getError } from "../../support/failure.ts";
import type { Specification } from "../specification.ts";
import { arguments_, ask, countTokens, issue, openEngine, run, toolNames, world } from "./world.ts";

const call = (tool: string, args: object = {}): Promise<SettledCall> =>
  world.engine.gateway.run({ tool: `anygpt:${tool}`, args });
const execute = (server: string, tool: string, args: object = {}): Promise<SettledCall> =>
  call("execute_tool", { server, tool, arguments: args });
const schema = (name: string): JsonObject =>
  world.engine.gateway.tools.find((tool) => tool.name === name)?.inputSchema as JsonObject;

/** Lines 340 to 547: the five meta-tools. */
export function metaToolRows({ row, differs, prose }: Specification): void {
  prose(340, 342, 348, 370, 374, 382, 407, 417, 421, 428, 451, 455, 462, 494, 498, 506, 522, 533, 543);

  row("344, 346", "list_mcp_servers takes no parameters and lists every server.", async () => {
    expect(schema("list_mcp_servers")).toEqual({ type: "object", properties: {} });
    expect((await ask("list_mcp_servers"))["servers"]).toHaveLength(5);
  });
  row(
    "351-365",
    "A server has name, description, number of tools, and connected or disconnected as status.",
    async () => {
      await execute("github", "list_repos");
      const { servers } = (await ask("list_mcp_servers")) as { servers: JsonObject[] };
      expect(servers[0]).toEqual({
        name: "github",
        description: "GitHub API integration",
        toolCount: 15,
        enabledCount: 13,
        status: "connected",
      });
      for (const { status } of servers) expect(["connected", "disconnected", "error"]).toContain(status);
    },
  );
  row("368", "The servers take at most 200 tokens.", async () => {
    expect(countTokens(await ask("list_mcp_servers"))).toBeLessThanOrEqual(200);
  });

  row(
    "372, 377-379",
    "search_tools takes a query, and perhaps a server and a limit, which is 10 by default.",
    async () => {
      expect(schema("search_tools")).toMatchObject({
        properties: { query: { type: "string" }, server: { type: "string" }, limit: {} },
        required: ["query"],
      });
      expect(getError(await call("search_tools"))).toMatchObject({ code: "INVALID_ARGUMENTS" });
      const found = await world.engine.searchTools("part");
      expect(found).toHaveLength(10);
      expect((await ask("search_tools", { query: "part", limit: 12 }))["results"]).toHaveLength(12);
      expect((await ask("search_tools", { query: "create", server: "jira" }))["results"]).toHaveLength(1);
    },
  );
  row("385-402", "A result has server, tool, summary, relevance and tags.", async () => {
    const { results } = (await ask("search_tools", { query: "create issue", limit: 3 })) as {
      results: JsonObject[];
    };
    expect(results[0]).toEqual({
      server: "github",
      tool: "create_issue",
      summary: "Create a new GitHub issue in a repository",
      relevance: expect.any(Number),
      tags: ["github", "issues"],
    });
    expect(results.map(({ tool }) => tool)).toContain("create_ticket");
  });
  row("405", "The results take at most 250 tokens.", async () => {
    expect(countTokens(await ask("search_tools", { query: "create issue" }))).toBeLessThanOrEqual(250);
  });
  row("409-413", "Words of the query are matched: the exact name counts most, a tag least.", async () => {
    const engine = await openEngine({
      servers: [],
      toolRules: [{ pattern: ["tagged"], tags: ["invoice"] }],
    });
    await engine.gateway.catalog.replace({ id: "one" }, [
      { name: "tagged", description: "Something else", inputSchema: {} },
      { name: "invoice_archive", description: "Another", inputSchema: {} },
      { name: "invoice", description: "The thing", inputSchema: {} },
    ]);
    const order = (await engine.searchTools("invoice")).map(({ tool }) => tool);
    expect(order).toEqual(["invoice", "invoice_archive", "tagged"]);
  });
  row("414-415", "Results are sorted by relevance and cut at the limit.", async () => {
    const relevances = (await world.engine.searchTools("create issue file")).map(
      ({ relevance }) => relevance,
    );
    expect(relevances).toEqual(relevances.toSorted((a, b) => b - a));
    expect(await world.engine.searchTools("part", { limit: 4 })).toHaveLength(4);
  });

  row(
    "419, 424-425",
    "list_tools takes a server, and includes disabled tools only where that is asked.",
    async () => {
      expect(schema("list_tools")).toMatchObject({
        properties: { server: { type: "string" }, includeDisabled: { type: "boolean" } },
        required: ["server"],
      });
      expect((await ask("list_tools", { server: "github" }))["tools"]).toHaveLength(13);
      const all = (await ask("list_tools", { server: "github", includeDisabled: true }))["tools"] as object[];
      expect(all).toHaveLength(toolNames.github.length);
    },
  );
  row("431-446", "A tool has name, summary, whether it is enabled, and tags.", async () => {
    expect(await ask("list_tools", { server: "github", includeDisabled: true })).toMatchObject({
      server: "github",
      tools: expect.arrayContaining([
        { name: "list_repos", summary: "List GitHub repositories", enabled: true, tags: ["github", "repos"] },
        {
          name: "delete_repo",
          summary: "Delete a GitHub repository",
          enabled: false,
          tags: ["github", "dangerous"],
        },
      ]),
    });
  });
  row(
    "449",
    "A list of tools takes 100 to 300 tokens for the example's servers, by the number of tools.",
    async () => {
      const cost = async (server: string): Promise<number> =>
        countTokens(await ask("list_tools", { server }));
      const costs = [await cost("filesystem"), await cost("github")];
      for (const tokens of costs) {
        expect(tokens).toBeGreaterThanOrEqual(100);
        expect(tokens).toBeLessThanOrEqual(300);
      }
      expect(costs[0]).toBeLessThan(costs[1] ?? 0);
    },
  );

  row("453, 458-459", "get_tool_details takes a server and a tool.", async () => {
    expect(schema("get_tool_details")).toMatchObject({ required: ["server", "tool"] });
    expect(getError(await call("get_tool_details", { server: "github" }))).toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
  });
  row(
    "465-482",
    "Details have the description, and each parameter with name, type, description and whether it is required.",
    async () => {
      expect(await ask("get_tool_details", { server: "github", tool: "create_issue" })).toMatchObject({
        server: "github",
        tool: "create_issue",
        description: "Create a new GitHub issue in a repository",
        parameters: [
          { name: "repo", type: "string", description: "Repository name (owner/repo)", required: true },
          { name: "title", type: "string", description: "Issue title", required: true },
          { name: "body", type: "string", description: "Issue body (markdown)" },
        ],
      });
    },
  );
  row("484-489", "Details have an example with values for the parameters.", async () => {
    const args = { server: "github", tool: "create_issue", examples: true };
    const [example] = (await ask("get_tool_details", args))["examples"] as JsonObject[];
    expect(example).toMatchObject({
      description: expect.any(String),
      parameters: { repo: "owner/repo", title: "Bug: Application crashes on startup" },
    });
  });
  row("492", "Details take at most 200 tokens.", async () => {
    const args = { server: "github", tool: "create_issue" };
    expect(countTokens(await ask("get_tool_details", args))).toBeLessThanOrEqual(200);
  });

  row("496, 501-503", "execute_tool takes a server, a tool and its arguments.", async () => {
    expect(schema("execute_tool")).toMatchObject({
      properties: { server: { type: "string" }, tool: { type: "string" }, arguments: { type: "object" } },
      required: ["server", "tool", "arguments"],
    });
    const executed = await execute("github", "create_issue", arguments_);
    expect(executed.ok && executed.result.structuredContent).toEqual(issue);
  });
  differs(
    "509-519",
    "A success is { success: true, result }, with the tool's own value as result.",
    "An agent gets the tool's content as it is, which clients understand; executeTool, execute --json and the option answers.envelope give this form.",
    async () => {
      expect(await world.engine.executeTool("github", "create_issue", arguments_)).toEqual({
        success: true,
        result: issue,
      });
      const raw = await execute("github", "create_issue", arguments_);
      expect(raw.ok && raw.result).toMatchObject({
        content: [{ text: "Issue #123 created" }],
        structuredContent: issue,
      });
    },
  );
  row("525-530", "A failure is { success: false, error } with code, message, server and tool.", async () => {
    expect(await world.engine.executeTool("github", "update_issue", {})).toEqual({
      success: false,
      error: {
        code: "TOOL_EXECUTION_ERROR",
        message: "Failed to create issue: API rate limit exceeded",
        server: "github",
        tool: "update_issue",
      },
    });
  });
  row("535", "A server or tool that does not exist is refused.", async () => {
    expect(getError(await execute("gitlab", "create_issue"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
    expect(getError(await execute("github", "create_isue"))).toMatchObject({ code: "TOOL_NOT_FOUND" });
  });
  row("536, 545-546", "A tool that the rules disable is not executed.", async () => {
    expect(getError(await execute("github", "delete_repo"))).toMatchObject({ code: "TOOL_DISABLED" });
  });
  row("537-538", "The call reaches the server, and its result or error comes back.", async () => {
    const [good, bad] = [
      await execute("filesystem", "read_file", { path: "x" }),
      await execute("github", "update_issue"),
    ];
    expect(good.ok && good.result.content[0]?.["text"]).toBe("# The file");
    expect(bad.ok && bad.result).toMatchObject({
      isError: true,
      content: [{ text: "Failed to create issue: API rate limit exceeded" }],
    });
  });
  row("539", "Progress of the server reaches the caller while the call runs.", async () => {
    const steps: unknown[] = [];
    await world.engine.executeTool(
      "ai",
      "steps",
      {},
      { onProgress: ({ progress }) => void steps.push(progress) },
    );
    expect(steps).toEqual([1, 2, 3]);
  });
  row("541", "An execution with a short result takes at most 300 tokens.", async () => {
    const executed = await execute("github", "create_issue", arguments_);
    expect(countTokens(executed.ok && executed.result)).toBeLessThanOrEqual(300);
  });
  row("547", "Every execution is in the audit.", async () => {
    await run("execute", "github", "list_repos");
    const { stdout } = await run("audit", "tail", "--json");
    expect(stdout).toContain("github:list_repos");
  });
}
