import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { type Definition, dead, type Files, place } from "../../support/place.ts";
import { type Finished, runCli, runMain } from "../../support/run-cli.ts";
import { examples, expected } from "./_examples.ts";

// Starting processes takes its time where many things run at once.
vi.setConfig({ testTimeout: 120_000 });

const fixture = fileURLToPath(new URL("../../fixtures/told-mcp.mjs", import.meta.url));

/** A server that has these tools and gives these answers. */
function told(tools: readonly object[], answers: object = {}): Definition {
  return { command: "node", args: [fixture, JSON.stringify({ tools, answers })] };
}

function tools(count: number, name = "more"): { name: string }[] {
  return Array.from({ length: count }, (_, index) => ({ name: `${name}_${index + 1}` }));
}

/** Goes to a project with this config, where commands can be run as the specification writes them. */
async function withConfig(
  config: object | string,
  home: Files = {},
): Promise<(...args: string[]) => Promise<Finished>> {
  const file = typeof config === "string" ? "toolpipe.config.mjs" : "toolpipe.config.json";
  const { project } = await place({ home, project: { [file]: config } });
  return (...args) => runCli(["mcp", ...args], { cwd: project, bin: "anygpt" });
}

const issueTags = { pattern: ["*issue*"], tags: ["github", "issues"] };

test("list", async () => {
  const run = await withConfig({
    mcpServers: {
      github: { ...told(tools(15)), description: "GitHub API integration" },
      filesystem: { ...told(tools(8)), description: "File system operations" },
      database: { ...told(tools(12)), description: "Database queries" },
    },
  });
  // One of the three is known from earlier.
  expect((await run("tools", "database")).code).toBe(0);
  expect(await run("list")).toEqual({ code: 0, stdout: expected("list"), stderr: "" });
});

test("search", async () => {
  const github = told([
    { name: "create_issue", description: "Create a new GitHub issue with title and body" },
    { name: "update_issue", description: "Update an existing GitHub issue" },
  ]);
  const jira = told([{ name: "create_ticket", description: "Create a new Jira ticket" }]);
  // How relevant a tool is, is for rankers to say, and no matter of how it is printed.
  const run = await withConfig(`
    const relevances = { create_issue: 0.95, update_issue: 0.87, create_ticket: 0.72 };
    const known = new Map();
    const ranker = {
      name: "told",
      update: (server, tools) => known.set(server, tools),
      rank: () => ({
        hits: [...known.values()].flat()
          .map((tool) => ({ tool, relevance: relevances[tool.name] }))
          .sort((a, b) => b.relevance - a.relevance),
        nearest: [],
      }),
    };
    export default {
      mcpServers: ${JSON.stringify({ github, jira })},
      toolRules: ${JSON.stringify([issueTags, { pattern: ["create_ticket"], tags: ["jira", "issues"] }])},
      options: { search: { ranker } },
    };`);
  expect(await run("search", "github issue")).toEqual({ code: 0, stdout: expected("search"), stderr: "" });
});

test("tools", async () => {
  const github = told([
    { name: "create_issue", description: "Create a GitHub issue" },
    { name: "list_repos", description: "List GitHub repositories" },
    ...tools(13),
    { name: "delete_repo", description: "Delete a GitHub repository" },
    { name: "delete_fork" },
  ]);
  const toolRules = [
    issueTags,
    { pattern: ["list_repos"], tags: ["github", "repos"] },
    { pattern: ["delete_*"], enabled: false, tags: ["github", "dangerous"] },
  ];
  const run = await withConfig({ mcpServers: { github }, toolRules });
  const whole = await run("tools", "github", "--all", "--tags");
  expect(whole).toEqual({ code: 0, stdout: expected("tools"), stderr: "" });
  const short = await run("tools", "github");
  expect(short.stdout.split("\n")[0]).toBe(examples.tools.split("\n")[0]);
  expect(short.stdout).not.toMatch(/disabled\)\n|Tags/);
});

const createIssue = {
  name: "create_issue",
  description: "Create a new GitHub issue in a repository",
  inputSchema: {
    type: "object",
    properties: {
      repo: { type: "string", description: "Repository name (owner/repo)", examples: ["owner/repo"] },
      title: {
        type: "string",
        description: "Issue title",
        examples: ["Bug: Application crashes on startup"],
      },
      body: {
        type: "string",
        description: "Issue body (markdown)",
        examples: ["## Steps to reproduce\n1. Launch app\n2. Crash occurs"],
      },
    },
    required: ["repo", "title"],
  },
};

test("inspect, with and without examples", async () => {
  const run = await withConfig({ mcpServers: { github: told([createIssue]) } });
  const whole = await run("inspect", "github", "create_issue", "--examples");
  expect(whole).toEqual({ code: 0, stdout: expected("inspect"), stderr: "" });
  const short = await run("inspect", "github", "create_issue");
  expect(short).toEqual({
    code: 0,
    stdout: `${expected("inspect").split("\n\nExamples:")[0]}\n`,
    stderr: "",
  });
});

test("config show", async () => {
  // 12 servers that answer, with 145 tools that the rules enable and 42 that they do not, and 3 that do not answer.
  const enabled = ["github", "issue", "filesystem", "read", "write"];
  const answering = Array.from({ length: 12 }, (_, index) =>
    told([
      ...tools(index < 11 ? 12 : 13, enabled[index % enabled.length]),
      ...tools(index < 6 ? 4 : 3, index % 2 === 0 ? "delete" : "other"),
    ]),
  );
  const servers = [...answering, dead, dead, dead].map((one, index) => [`server-${index + 1}`, one]);
  const files = {
    ".docker/mcp-servers.json": { mcpServers: Object.fromEntries(servers.slice(0, 10)) },
    "Library/Application Support/Claude/claude_desktop_config.json": {
      mcpServers: Object.fromEntries(servers.slice(10)),
    },
  };
  const run = await withConfig(
    {
      sources: [
        { type: "docker-mcp", path: "~/.docker/mcp-servers.json" },
        {
          type: "claude-desktop",
          path: "~/Library/Application Support/Claude/claude_desktop_config.json",
        },
        { type: "windsurf", path: "~/.windsurf/mcp.json" },
      ],
      toolRules: [
        { pattern: ["*github*", "/issue/"], enabled: true, tags: ["github", "issues"] },
        { pattern: ["*filesystem*", "/read/", "/write/"], enabled: true, tags: ["filesystem"] },
        { pattern: ["*dangerous*", "*delete*"], enabled: false, tags: ["dangerous"] },
      ],
    },
    files,
  );
  const { code, stdout, stderr } = await run("config", "show");
  const json = JSON.parse((await run("config", "show", "--json")).stdout);
  const facts = { file: json.file, plugins: json.plugins.join(", ") };
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expected("show", facts), stderr: "" });
  // A cached listing needs no connection, and the output notes it.
  expect(json).toMatchObject({
    enabled: true,
    cache: { enabled: true, ttl: 3600 },
    sources: [{ status: "read" }, { status: "read" }, { status: "missing" }],
    servers: { configured: 15, connected: 0, atRest: 12 },
    tools: { total: 187, enabled: 145 },
  });
});

const created =
  "Issue #123 created\nURL: https://github.com/owner/repo/issues/123\nTitle: Bug report\nState: open";

test("execute, with success, as lines and as JSON", async () => {
  const content = [{ type: "text", text: created }];
  const structuredContent = {
    issue_number: 123,
    url: "https://github.com/owner/repo/issues/123",
    title: "Bug report",
    state: "open",
  };
  const answers = { create_issue: { content, structuredContent } };
  const run = await withConfig({ mcpServers: { github: told([createIssue], answers) } });
  const args = '--args={"repo":"owner/repo","title":"Bug report","body":"Description"}';
  const text = await run("execute", "github", "create_issue", args);
  expect(text).toEqual({ code: 0, stdout: expected("executed"), stderr: "" });
  const json = await run("execute", "github", "create_issue", args, "--json");
  expect(json).toEqual({ code: 0, stdout: expected("executedJson"), stderr: "" });
  expect(JSON.parse(json.stdout)).toEqual(JSON.parse(examples.executedJson));
});

test("execute, with a failure of the tool", async () => {
  const text = "Failed to create issue: API rate limit exceeded";
  const answers = { create_issue: { content: [{ type: "text", text }], isError: true } };
  const run = await withConfig({ mcpServers: { github: told([createIssue], answers) } });
  const args = ["github", "create_issue", "--args", '{"repo":"owner/repo","title":"Bug report"}'];
  expect(await run("execute", ...args)).toEqual({ code: 3, stdout: expected("failed"), stderr: "" });
  expect(JSON.parse((await run("execute", ...args, "--json")).stdout)).toEqual({
    success: false,
    error: { code: "TOOL_EXECUTION_ERROR", message: text, server: "github", tool: "create_issue" },
  });
});

test("every exit code of the specification", async () => {
  const answers = {
    works: { content: [] },
    fails: { content: [], isError: true },
    off: { content: [] },
  };
  const listed = [{ name: "works" }, { name: "fails" }, { name: "off" }, createIssue];
  const config = {
    mcpServers: { github: told(listed, answers) },
    toolRules: [{ pattern: ["off"], enabled: false }],
  };
  await withConfig(config);
  const run = (...args: string[]): Promise<Finished> => runMain(["mcp", ...args], "anygpt");
  expect((await run("list")).code).toBe(0);
  const codes: readonly [code: number, ...args: string[]][] = [
    [1, "list", "--nonsense"],
    [2, "list", "--config", "missing.json"],
    [0, "search", "works"],
    [1, "search"],
    [1, "search", "works", "--limit", "none"],
    [2, "search", "xyzzy"],
    [0, "tools", "github"],
    [1, "tools", "github", "another"],
    [2, "tools", "gitlab"],
    [0, "inspect", "github", "works"],
    [0, "inspect", "github", "off"],
    [1, "inspect", "github"],
    [2, "inspect", "gitlab", "works"],
    [2, "inspect", "github", "workz"],
    [0, "config", "show"],
    [0, "config", "validate"],
    [0, "config", "sources"],
    [0, "config", "reload"],
    [1, "config"],
    [1, "config", "show", "--nonsense"],
    [2, "config", "show", "--config", "missing.json"],
    [2, "config", "validate", "--config", "missing.json"],
    [2, "config", "validate", "--config", "missing.json", "--json"],
    [0, "execute", "github", "works", "--args", "{}"],
    [1, "execute", "github", "works", "--args", "{"],
    [1, "execute", "github", "create_issue", "--args", '{"repo":7}'],
    [2, "execute", "gitlab", "works", "--args", "{}"],
    [2, "execute", "github", "workz", "--args", "{}"],
    [3, "execute", "github", "fails", "--args", "{}"],
    [4, "execute", "github", "off", "--args", "{}"],
  ];
  const found: [number | null, ...string[]][] = [];
  for (const [, ...args] of codes) found.push([(await run(...args)).code, ...args]);
  expect(found).toEqual(codes);
});
