import { expect } from "vitest";
import { startServe } from "../../support/start-serve.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { toldServer } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { configOption, expectCodes } from "./commands.ts";
import { arguments_, clientFile, issue, run, world } from "./world.ts";

const args = `--args=${JSON.stringify(arguments_)}`;

/** Lines 753 to 901: the commands config and execute. */
export function configAndExecuteRows({ row, differs, added, prose }: Specification): void {
  prose(
    753,
    757,
    763,
    770,
    773,
    776,
    779,
    782,
    786,
    808,
    814,
    818,
    824,
    830,
    833,
    837,
    842,
    848,
    862,
    875,
    889,
    897,
  );

  row("755, 760, 765-768, 774, 777, 780, 783", "config has show, validate, sources and reload.", () =>
    expectCodes(["show", "validate", "sources", "reload"].map((name) => [0, "config", name] as const)),
  );
  row(
    "789-805",
    "config show begins with status, cache, sources, rules, servers and tools, and counts the servers that running gateways are connected to.",
    async () => {
      const answers = { create_issue: { content: [] } };
      const { command, args: words } = toldServer([{ name: "create_issue" }, { name: "delete_x" }], answers);
      const own = JSON.stringify({ mcpServers: { one: { command, args: words } } });
      await writeFiles(world.home, { "show/docker.json": own, "show/claude.json": clientFile("desk") });
      const option = await configOption("show", {
        sources: [
          { type: "docker-mcp", path: "~/show/docker.json" },
          { type: "claude-desktop", path: "~/show/claude.json" },
          { type: "windsurf", path: "~/show/none.json" },
        ],
        toolRules: [
          { pattern: ["*github*", "/issue/"], enabled: true, tags: ["github", "issues"] },
          { pattern: ["*filesystem*", "/read/", "/write/"], enabled: true, tags: ["filesystem"] },
          { pattern: ["*dangerous*", "*delete*"], enabled: false, tags: ["dangerous"] },
        ],
      });
      await run("list", option);
      const { stdout } = await run("config", "show", option);
      const block = `MCP Discovery Configuration:

Status: Enabled
Cache: Enabled (TTL: 3600s)

Sources (3):
  ✓ docker-mcp (~/show/docker.json)
  ✓ claude-desktop (~/show/claude.json)
  ✗ windsurf (~/show/none.json) - not found

Tool Rules (3):
  1. *github*, /issue/ → enabled, tags: [github, issues]
  2. *filesystem*, /read/, /write/ → enabled, tags: [filesystem]
  3. *dangerous*, *delete* → disabled, tags: [dangerous]

Servers: 2 configured, 0 connected
Tools: 3 total, 1 enabled
`;
      expect(stdout.slice(0, block.length)).toBe(block);
      const serving = startServe([option], { cwd: world.project, env: process.env });
      const call = { server: "one", tool: "create_issue", arguments: {} };
      await serving.request("tools/call", { name: "execute_tool", arguments: call });
      // The gateway announces itself in the background.
      await expect
        .poll(async () => (await run("config", "show", option)).stdout, { timeout: 10_000 })
        .toContain("\nServers: 2 configured, 1 connected\nTools: 3 total, 1 enabled\n");
    },
  );
  row("810-812", "config exits with 0, 1 for wrong arguments, 2 for a config that cannot be used.", () =>
    expectCodes([
      [0, "config", "show"],
      [1, "config"],
      [1, "config", "show", "--nonsense"],
      [2, "config", "show", "--config", "missing.json"],
      [2, "config", "validate", "--config", "missing.json"],
    ]),
  );

  row("816, 821, 834-835", "execute runs a tool of a server with the arguments of the example.", async () => {
    const { code, stdout } = await run("execute", "github", "create_issue", args);
    expect(code).toBe(0);
    expect(stdout).toContain("Issue #123 created");
  });
  row(
    "826",
    "--args is the tool's arguments as JSON, and what the tool requires must be in it.",
    async () => {
      await expectCodes([
        [1, "execute", "github", "create_issue"],
        [1, "execute", "github", "create_issue", "--args", "{"],
        [1, "execute", "github", "create_issue", "--args", "[]"],
        [0, "execute", "github", "create_issue", args],
      ]);
      expect((await run("execute", "github", "create_issue", "--args", "{")).stderr).toContain("--args");
    },
  );
  differs(
    "826",
    "--args is required for every tool.",
    "Without it the arguments are empty, which a tool without required ones accepts.",
    () => expectCodes([[0, "execute", "github", "list_repos"]]),
  );
  row(
    "827, 838-840, 878-886",
    "execute --json prints { success, result } with the tool's own value.",
    async () => {
      const { stdout } = await run("execute", "github", "create_issue", args, "--json");
      expect(JSON.parse(stdout)).toEqual({ success: true, result: issue });
      const read = await run("execute", "filesystem", "read_file", '--args={"path":"README.md"}', "--json");
      expect(JSON.parse(read.stdout)).toMatchObject({ success: true });
    },
  );
  row("828, 843-845", "execute --stream prints progress before the result.", async () => {
    const { stdout } = await run("execute", "ai", "steps", "--args={}", "--stream");
    expect(stdout).toMatch(
      /^Executing: ai:steps\n\n… 1 of 3: step 1\n[\s\S]*✓ Success\n\nResult:\n {2}done\n$/,
    );
  });
  row(
    "851-859",
    "A success prints what is executed, the mark and the result, an object as lines of key and value.",
    async () => {
      expect((await run("execute", "github", "create_issue", args)).stdout).toBe(
        `Executing: github:create_issue\n\n✓ Success\n\nResult:\n  Issue #123 created\n  URL: ${issue["url"]}\n  Title: Bug report\n  State: open\n`,
      );
    },
  );
  row("865-872", "A failure prints code, message, server and tool.", async () => {
    expect(await run("execute", "github", "update_issue", "--args={}")).toMatchObject({
      code: 3,
      stdout: `Executing: github:update_issue\n\n✗ Error\n\nCode: TOOL_EXECUTION_ERROR\nMessage: Failed to create issue: API rate limit exceeded\nServer: github\nTool: update_issue\n`,
    });
  });
  row(
    "891-895",
    "execute exits with 0, 1 for arguments, 2 for an unknown tool, 3 for a failure, 4 for a disabled tool.",
    () =>
      expectCodes([
        [0, "execute", "github", "list_repos", "--args={}"],
        [1, "execute", "github", "create_issue", '--args={"repo":7}'],
        [2, "execute", "gitlab", "create_issue", "--args={}"],
        [2, "execute", "github", "create_isue", "--args={}"],
        [3, "execute", "github", "update_issue", "--args={}"],
        [4, "execute", "github", "delete_repo", "--args={}"],
      ]),
  );
  added(
    "695, 751, 893",
    "An unset variable in execute, and a server that cannot be reached in tools and inspect, exit with 3.",
    "The tables have no row for them.",
    async () => {
      const option = await configOption("unset", {
        mcpServers: {
          some: { command: "node", args: [`\${SURELY_UNSET_VARIABLE}`] },
          gone: { command: "/nowhere/x" },
        },
      });
      await expectCodes([
        [3, "execute", "some", "x", "--args={}", option],
        [3, "tools", "gone", option],
        [3, "inspect", "gone", "x", option],
      ]);
    },
  );
  row("899", "Only enabled tools are executed.", async () => {
    const { stdout } = await run("execute", "github", "delete_repo", "--args={}", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      success: false,
      error: { code: expect.any(String), tool: "delete_repo" },
    });
  });
  row("900", "Arguments are checked against the tool's schema.", async () => {
    const { code, stdout } = await run("execute", "github", "create_issue", '--args={"repo":7}', "--json");
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 1,
      success: false,
      error: { code: "TOOL_VALIDATION_ERROR" },
    });
  });
  row("901", "Every execution is recorded.", async () => {
    await run("execute", "filesystem", "read_file", '--args={"path":"a"}');
    expect((await run("audit", "tail", "--json")).stdout).toContain("filesystem:read_file");
  });
}
