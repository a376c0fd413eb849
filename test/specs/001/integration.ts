import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";

import { placeCommand, readImageCommand } from "../../support/image.ts";
import { realCatalog } from "../../support/real-catalog.ts";

import { startServe } from "../../support/start-serve.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { toldServer } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { inProject } from "./behavior.ts";
import {
  arguments_,
  ask,
  clientFile,
  countTokens,
  customFile,
  issue,
  listMetaTools,
  run,
  toServers,
  world,
} from "./world.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const hello = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "client", version: "1" },
};

/** Starts the server in a project, and asks for its tools. */
async function listServed(cwd: string): Promise<readonly { readonly name: string }[]> {
  const serving = startServe([], { cwd, env: process.env });
  await serving.request("initialize", hello);
  const { result } = (await serving.request("tools/list")) as { result: { tools: { name: string }[] } };
  return result.tools;
}

/** Lines 975 to 1192: integration with the protocol. */
export function integrationRows({ row, differs, prose }: Specification): void {
  prose(
    975,
    977,
    981,
    983,
    996,
    1009,
    1022,
    1054,
    1061,
    1063,
    1065,
    1067,
    1099,
    1136,
    1138,
    "1141-1146",
    1177,
    1192,
  );

  row("979", "An agent's client connects to it as to any MCP server.", async () => {
    expect(await listServed(world.project)).toHaveLength(5);
  });
  differs(
    "986-993",
    "A client starts the package with npx -y and its name.",
    "The package is named toolpipe; the rest of the entry is as written.",
    async () => {
      // As installed: npx takes a package that is there before it asks a registry.
      await mkdir(join(world.project, "node_modules/.bin"), { recursive: true });
      await symlink(root, join(world.project, "node_modules/toolpipe"), "dir");
      const { bin } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
      // npm makes programs executable where it installs them.
      await chmod(join(root, bin.toolpipe), 0o755);
      await symlink(join("../toolpipe", bin.toolpipe), join(world.project, "node_modules/.bin/toolpipe"));
      const env = { ...process.env, npm_config_offline: "true" };
      const child = spawn("npx", ["-y", "toolpipe"], { cwd: world.project, env, stdio: "pipe" });
      onTestFinished(() => void child.kill());
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })}\n`);
      const [line] = await once(createInterface(child.stdout), "line");
      expect(JSON.parse(line).result.tools).toHaveLength(5);
      child.stdin.end();
      await once(child, "exit");
    },
  );
  differs(
    "999-1007",
    "A client starts the image with docker run -i --rm, and speaks to it over stdio.",
    "The image is named toolpipe; the rest of the entry is as written.",
    async ({ skip }) => {
      if ("Deno" in globalThis) return skip("the image runs Node");
      const { entrypoint, command } = readImageCommand();
      const root = fileURLToPath(new URL("../../../", import.meta.url));
      const [node, ...args] = placeCommand([...entrypoint, ...command], { "/app/": root });
      const messages = ["initialize", "tools/list"].map((method, id) =>
        JSON.stringify({ jsonrpc: "2.0", id, method, params: method === "initialize" ? hello : {} }),
      );
      const served = spawnSync(node, args, { input: `${messages.join("\n")}\n`, encoding: "utf8" });
      const [first, second] = served.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).result);
      expect(first.serverInfo.name).toBe("toolpipe");
      expect(second.tools).toHaveLength(5);
    },
  );
  row("1012-1019", "A client can start the built file with node.", async () => {
    expect(await listServed(world.project)).toMatchObject([{ name: "list_mcp_servers" }, {}, {}, {}, {}]);
  });

  row(
    "1024, 1026, 1029-1051",
    "anygpt.config.ts with config({ discovery }) names servers and rules.",
    async () => {
      const server = {
        ...toServers({ github: toldServer([{ name: "echo" }]) })[0],
        description: "GitHub API integration",
      };
      const text = `export default config({ discovery: { enabled: true, servers: [${JSON.stringify(server)}], toolRules: [/* optional filtering */] } });`;
      const { stdout } = await inProject({ "anygpt.config.ts": text }, () => run("list", "--json"));
      expect(JSON.parse(stdout).servers).toMatchObject([
        { name: "github", description: "GitHub API integration" },
      ]);
    },
  );
  row(
    "1056-1059",
    "Servers of Docker, Claude Desktop, Windsurf, VS Code and Cursor are found where they keep them.",
    async ({ skip }) => {
      if (process.platform === "win32") return skip("its folders are named by variables");
      // The folder of desktop programs; macOS has the one of the specification.
      const desktop = process.platform === "darwin" ? "Library/Application Support" : ".config";
      const home = join(world.home, "own");
      await writeFiles(home, {
        ".docker/mcp-servers.json": clientFile("of-docker"),
        [`${desktop}/Claude/claude_desktop_config.json`]: clientFile("of-claude"),
        ".windsurf/mcp.json": clientFile("of-windsurf"),
        [`${desktop}/Code/User/mcp.json`]: clientFile("of-vscode").replace("mcpServers", "servers"),
        ".cursor/mcp.json": clientFile("of-cursor"),
      });
      const config = JSON.stringify({ options: { sources: { clients: "all" } } });
      await writeFiles(world.project, { "auto.json": config });
      vi.stubEnv("HOME", home);
      vi.stubEnv("XDG_CONFIG_HOME", undefined);
      onTestFinished(() => void vi.unstubAllEnvs());
      const { stdout } = await run("list", "--json", "--config=auto.json");
      const servers: { name: string; toolCount: number }[] = JSON.parse(stdout).servers;
      expect(servers.map(({ name }) => name).sort()).toEqual(
        ["of-docker", "of-claude", "of-windsurf", "of-vscode", "of-cursor"].sort(),
      );
      for (const { toolCount } of servers) expect(toolCount).toBe(1);
    },
  );
  row("1070-1096", "A config of the project with a custom source and rules.", async () => {
    const files = {
      "my-mcp-servers.yaml": customFile({ own: ["create_issue", "delete_x", "other"] }),
      ".anygpt/mcp-discovery.config.ts": `export default {
  discovery: {
    enabled: true,
    sources: [{ type: 'custom', path: './my-mcp-servers.yaml' }],
    toolRules: [
      { pattern: ['*github*', '/issue/'], enabled: true, tags: ['github', 'issues'] },
      { pattern: ['*delete*', '*remove*'], enabled: false, tags: ['dangerous'] },
    ],
  },
};`,
    };
    const { stdout } = await inProject(files, () => run("tools", "own", "--all", "--tags"));
    expect(stdout).toContain("✓ create_issue\n  Tags: github, issues\n");
    expect(stdout).toContain("✗ delete_x (disabled)\n  Tags: dangerous\n");
  });

  row("1101, 1103, 1109, 1115, 1121, 1127", "Exactly the five tools are served, in this order.", async () => {
    const names = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"];
    expect((await listServed(world.project)).map(({ name }) => name)).toEqual(names);
  });
  const schema = (name: string): JsonObject =>
    world.engine.gateway.tools.find((tool) => tool.name === name)?.inputSchema["properties"] as JsonObject;
  row("1105-1107", "list_mcp_servers: no parameters, a list of servers, at most 200 tokens.", async () => {
    expect(schema("list_mcp_servers")).toEqual({});
    const answer = await ask("list_mcp_servers");
    expect(answer["servers"]).toBeInstanceOf(Array);
    expect(countTokens(answer)).toBeLessThanOrEqual(200);
  });
  row(
    "1111-1113",
    "search_tools: query, server and limit; tools with relevance; at most 250 tokens.",
    async () => {
      expect(Object.keys(schema("search_tools"))).toEqual(["query", "server", "limit"]);
      const answer = await ask("search_tools", { query: "file" });
      expect(answer["results"]).toMatchObject([{ relevance: expect.any(Number) }, {}]);
      expect(countTokens(answer)).toBeLessThanOrEqual(250);
    },
  );
  row(
    "1117-1119",
    "list_tools: server and includeDisabled; a list of summaries; at most 300 tokens for eight tools.",
    async () => {
      expect(Object.keys(schema("list_tools"))).toEqual(["server", "includeDisabled"]);
      const answer = await ask("list_tools", { server: "filesystem" });
      expect(answer["tools"]).toMatchObject([{ summary: expect.any(String) }, {}, {}, {}, {}, {}, {}, {}]);
      expect(countTokens(answer)).toBeLessThanOrEqual(300);
    },
  );
  row(
    "1123-1125",
    "get_tool_details: server and tool; description, parameters and examples; at most 200 tokens.",
    async () => {
      expect(Object.keys(schema("get_tool_details")).slice(0, 2)).toEqual(["server", "tool"]);
      const answer = await ask("get_tool_details", { server: "github", tool: "create_issue" });
      expect(Object.keys(answer)).toEqual(expect.arrayContaining(["description", "parameters"]));
      const full = await ask("get_tool_details", { server: "github", tool: "create_issue", examples: true });
      expect(full["examples"]).toHaveLength(1);
      expect(countTokens(answer)).toBeLessThanOrEqual(200);
    },
  );
  row(
    "1128-1130",
    "execute_tool: server, tool and arguments; the result or an error; at most 300 tokens.",
    async () => {
      expect(Object.keys(schema("execute_tool"))).toEqual(["server", "tool", "arguments"]);
      const args = { server: "github", tool: "create_issue", arguments: arguments_ };
      const call = await world.engine.gateway.run({ tool: "anygpt:execute_tool", args });
      expect(call.ok && countTokens(call.result)).toBeLessThanOrEqual(300);
    },
  );
  row("1132", "The five definitions take at most 600 tokens, however many tools there are.", () => {
    expect(countTokens(listMetaTools())).toBeLessThanOrEqual(600);
  });
  row("1134", "Tools are found and executed with no connection of the agent to their servers.", async () => {
    const [found] = await world.engine.searchTools("create issue");
    const { server = "", tool = "" } = found ?? {};
    expect(await world.engine.executeTool(server, tool, arguments_)).toEqual({
      success: true,
      result: issue,
    });
  });

  row("1148-1175", "A task of several steps: read a file, then create an issue from it.", async () => {
    const steps = [
      { query: "read file", server: "filesystem", tool: "read_file", args: { path: "README.md" } },
      { query: "create github issue", server: "github", tool: "create_issue", args: arguments_ },
    ];
    for (const { query, server, tool, args } of steps) {
      const { results } = (await ask("search_tools", { query })) as { results: { relevance: number }[] };
      expect(results[0]).toMatchObject({ server, tool });
      expect(results[0]?.relevance).toBeGreaterThan(0.8);
      expect(await ask("get_tool_details", { server, tool })).toMatchObject({ server, tool });
      expect(await world.engine.executeTool(server, tool, args)).toMatchObject({ success: true });
    }
  });
  row(
    "1178-1189",
    "Both steps together cost at most 1,600 tokens, where all definitions would be sent again with each of seven messages: 99.7 % less.",
    async ({ skip }) => {
      const { gateway } = world.engine;
      const answers: unknown[] = [listMetaTools()];
      for (const [query, server, tool, args] of [
        ["read file", "filesystem", "read_file", { path: "README.md" }],
        ["create github issue", "github", "create_issue", arguments_],
      ] as const) {
        answers.push(await ask("search_tools", { query }), await ask("get_tool_details", { server, tool }));
        const call = await gateway.run({
          tool: "anygpt:execute_tool",
          args: { server, tool, arguments: args },
        });
        answers.push(call.ok ? call.result : call.error.message);
      }
      const costs = answers.map(countTokens);
      for (const [index, most] of [600, 200, 100, 200, 200, 100, 200].entries())
        expect(costs[index]).toBeLessThanOrEqual(most);
      const total = costs.reduce((sum, cost) => sum + cost);
      expect(total).toBeLessThanOrEqual(1_600);
      const catalog = realCatalog();
      if (catalog.length === 0) return skip("the collection of real tools is not at hand");
      const perMessage = countTokens(catalog.slice(0, 1_000));
      expect(perMessage).toBeGreaterThan(100_000);
      expect(1 - total / (perMessage * 7)).toBeGreaterThan(0.997);
    },
  );
}
