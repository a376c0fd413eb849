import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { faulty, place, write } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

describe("config sources", () => {
  test("lists the files that were read, those that are broken with the line, and what is odd in them", async () => {
    const { home, project } = await place({
      home: {
        ".cursor/mcp.json": { mcpServers: { one: faulty(), two: { command: "two" } } },
        ".claude.json": { mcpServers: { bad: { args: [] }, one: { command: "one" } } },
        ".codeium/windsurf/mcp_config.json": '{\n  "mcpServers": {\n    oops\n',
      },
      project: { ".mcp.json": { mcpServers: { three: { command: "three" } } } },
    });
    const { code, stdout, stderr } = await runMain(["config", "sources"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("Sources (4), 3 servers in use:");
    expect(lines).toContain("  ✓ cursor (~/.cursor/mcp.json) - 2 servers");
    expect(lines).toContain("  ✓ claude-code (~/.claude.json) - 1 server");
    expect(lines).toContain(`  ✓ claude-code (${join(project, ".mcp.json")}) - 1 server`);
    expect(lines.filter((line) => line.startsWith("  ✗"))).toEqual([
      expect.stringMatching(/^ {2}✗ windsurf \(.*mcp_config\.json:3:5\) - [a-z ]+\.$/),
    ]);
    expect(lines).toContain(
      `  ! In ${join(home, ".claude.json")}, the server "bad" cannot be used: it names neither a command nor a URL.`,
    );
    expect(stdout).toMatch(/ {2}! The server "one" is defined in .* and in .*; the first one counts\.\n/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("--all lists also the files that are not there", async () => {
    await place({ home: { ".cursor/mcp.json": { mcpServers: { one: faulty() } } } });
    const { stdout } = await runMain(["config", "sources", "--all"]);
    expect(stdout).toContain("  ✓ cursor (~/.cursor/mcp.json) - 1 server\n");
    expect(stdout).toContain("  ✗ windsurf (~/.codeium/windsurf/mcp_config.json) - not found\n");
    expect((await runMain(["config", "sources"])).stdout).not.toContain("not found");
  });

  test("lists the config itself, and the files that it names", async () => {
    const { project } = await place({
      home: { ".cursor/mcp.json": { mcpServers: { mine: faulty() } } },
      project: {
        "toolpipe.config.json": {
          mcpServers: { one: faulty() },
          options: {
            sources: {
              sources: [
                { type: "custom", path: "./more.yaml" },
                { type: "custom", path: "./not-there.yaml" },
              ],
            },
          },
        },
        "more.yaml": "servers:\n  two:\n    connection: { type: stdio, command: node }\n",
      },
    });
    expect((await runMain(["config", "sources", "--all"])).stdout).toBe(`Sources (3), 2 servers in use:
  ✓ config (${join(project, "toolpipe.config.json")}) - 1 server
  ✓ custom (${join(project, "more.yaml")}) - 1 server
  ✗ custom (${join(project, "not-there.yaml")}) - not found
`);
  });

  test("prints JSON when asked", async () => {
    const { home } = await place({ home: { ".cursor/mcp.json": { mcpServers: { one: faulty() } } } });
    const { stdout } = await runMain(["config", "sources", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      files: [
        { source: "cursor", file: join(home, ".cursor/mcp.json"), scope: "user", status: "read", count: 1 },
      ],
      warnings: [],
      servers: 1,
    });
  });

  test("says where to look where there is nothing", async () => {
    await place();
    expect(await runMain(["config", "sources"])).toEqual({
      code: 0,
      stdout: "No file with servers was found. --all lists the files that are tried.\n",
      stderr: "",
    });
  });
});

describe("config validate", () => {
  test("warns of what can be used and may not be what was meant", async () => {
    const { project } = await place({
      project: {
        "toolpipe.config.json": {
          mcpServers: { one: faulty(), bad: { args: [] } },
          options: {
            sources: {
              sources: [
                { type: "custom", path: "./broken.yaml" },
                { type: "custom", path: "./not-there.yaml" },
              ],
            },
          },
          toolRules: [
            { pattern: ["!echo"], enabled: false },
            { pattern: ["ehco"], enabled: false },
          ],
        },
        "broken.yaml": "servers:\n  - [",
      },
    });
    const { code, stdout } = await runMain(["config", "validate"]);
    expect(stdout.trimEnd().split("\n")).toEqual([
      `✓ Valid: ${join(project, "toolpipe.config.json")}`,
      expect.stringMatching(/^! .*broken\.yaml:\d+:\d+: /),
      `! ${join(project, "not-there.yaml")}: there is no such file.`,
      expect.stringMatching(/^! In .*, the server "bad" cannot be used/),
      '! Rule 2 (ehco): It matches no tool. Write "echo" instead of "ehco"?',
    ]);
    expect(code).toBe(0);
    await write(project, { "toolpipe.config.json": { mcpServers: { one: faulty() } } });
    expect(JSON.parse((await runMain(["config", "validate", "--json"])).stdout).warnings).toEqual([]);
  });
});
