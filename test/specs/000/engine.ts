import {
  ConfigurationError,
  type DiscoveryConfig,
  DiscoveryEngine,
  type ServerMetadata,
} from "toolpipe/anygpt";
import { expect } from "vitest";
import { runMain } from "../../support/run-cli.ts";
import type { Specification } from "../specification.ts";
import { createdIssue, servers, toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { changingServer, config, openEngine, openSession, toNames, world, writeProject } from "./world.ts";

const given = { repo: "owner/repo", title: "Bug report" };

/** Lines 285 to 329: the engine. Lines 629 to 647: its tasks. Lines 667 to 673 and 700 to 701: questions and users. */
export function engineRows({ row, added, prose }: Specification): void {
  prose(285, 289, 294, 297, 302, 305, 311, 313, 629, 631, 633, 643, 667);

  row(
    "287, 632, 634-639, 641, 644",
    "The engine brings config, rules, search, cache and execution together.",
    async () => {
      const { engine } = world;
      expect(engine.getConfig()).toMatchObject({ toolRules: config.toolRules });
      expect(await engine.getToolDetails("github", "delete_repo")).toMatchObject({
        enabled: false,
        tags: ["dangerous"],
      });
      expect((await engine.searchTools("list repositories"))[0]).toMatchObject({ tool: "list_repos" });
      expect(await engine.executeTool("github", "create_issue", given)).toMatchObject({ success: true });
    },
  );

  row(
    "291-292, 634",
    "An engine is created from a config, and refuses one that cannot be used.",
    async () => {
      expect(await findTypeFaults("constructor", "DiscoveryEngine")).toEqual([]);
      expect(new DiscoveryEngine({ enabled: true })).toBeInstanceOf(DiscoveryEngine);
      for (const wrong of [undefined, { enabled: "yes" }, { enabled: true, servers: 5 }])
        expect(() => new DiscoveryEngine(wrong as unknown as DiscoveryConfig)).toThrow(ConfigurationError);
    },
  );

  row("295", "listServers lists every server, also one that cannot be used.", async () => {
    const rows = await world.engine.listServers();
    expect(rows.map(({ name }) => name)).toEqual(["github", "limited", "faulty", "dead"]);
  });
  row("298", "searchTools finds tools of all servers, or of one, up to a limit.", async () => {
    const found = await world.engine.searchTools("create a new issue");
    expect(new Set(found.map(({ server }) => server))).toEqual(new Set(["github", "limited"]));
    const own = await world.engine.searchTools("create a new issue", { server: "limited", limit: 1 });
    expect(own).toMatchObject([{ server: "limited", tool: "create_issue" }]);
  });
  row("299", "listTools lists the enabled tools of a server, or all.", async () => {
    const names = ["create_issue", "update_issue", "list_repos"];
    expect(toNames(await world.engine.listTools("github"))).toEqual(names);
    expect(toNames(await world.engine.listTools("github", true))).toEqual([...names, "delete_repo"]);
  });
  row("300", "getToolDetails describes a tool, or is null.", async () => {
    const details = await world.engine.getToolDetails("github", "create_issue");
    expect(details?.parameters?.map(({ name }) => name)).toEqual(["repo", "title", "body"]);
    expect(await world.engine.getToolDetails("github", "nothing")).toBeNull();
  });
  row("303, 639, 647", "executeTool runs a tool on its server.", async () => {
    expect(await world.engine.executeTool("github", "create_issue", given)).toEqual({
      success: true,
      result: createdIssue,
    });
  });
  row(
    "306, 640, 645, 671",
    "reload() reads the sources again, and leaves the engine as it was where that fails.",
    async () => {
      const entry = (name: "github" | "limited") => ({
        command: servers[name].command,
        args: servers[name].args,
      });
      const write = (mcpServers: object) => writeProject("reload.json", JSON.stringify({ mcpServers }));
      const path = await write({ one: entry("github") });
      const engine = openEngine({ enabled: true, sources: [{ type: "claude-desktop", path }] });
      const list = async () => (await engine.listServers()).map(({ name }) => name);
      expect(await list()).toEqual(["one"]);
      await write({ one: entry("github"), two: entry("limited") });
      expect(await list()).toEqual(["one"]);
      await engine.reload();
      expect(await list()).toEqual(["one", "two"]);
      expect(toNames(await engine.listTools("two"))).toEqual(["create_issue"]);
    },
  );
  row(
    "307-308",
    "getConfig returns the config with its defaults; changes to it do not reach the engine.",
    () => {
      const engine = openEngine({ enabled: true, toolRules: [{ pattern: ["a"], enabled: false }] });
      const own = engine.getConfig();
      expect(own).toMatchObject({ enabled: true, cache: { enabled: true, ttl: 3600 }, sources: [] });
      own.toolRules?.pop();
      expect(engine.getConfig().toolRules).toEqual([{ pattern: ["a"], enabled: false }]);
    },
  );

  row(
    "315-319, 322",
    "A server has name, description and the numbers of its tools and of its enabled tools.",
    async () => {
      expect(await findTypeFaults("ServerMetadata")).toEqual([]);
      const [github] = await world.engine.listServers();
      expect(github).toEqual({
        name: "github",
        description: "GitHub API integration",
        toolCount: 4,
        enabledCount: 3,
        status: "connected",
      });
    },
  );
  row(
    "320",
    "The status is one of three: connected, disconnected, or error where the definition is at fault.",
    async () => {
      const entries = toEntries(["github", "dead"]);
      const broken = {
        name: "broken",
        connection: { type: "stdio", command: `\${ROWS_OF_000_NOT_SET}`, args: [] },
      };
      const engine = openEngine({ enabled: true, servers: [...entries, broken] });
      for (const name of ["github", "dead", "broken"]) await engine.executeTool(name, "list_repos", {});
      const rows: ServerMetadata[] = await engine.listServers();
      expect(rows.map(({ name, status }) => [name, status])).toEqual([
        ["github", "connected"],
        ["dead", "disconnected"],
        ["broken", "error"],
      ]);
      expect(rows.map(({ reason }) => reason !== undefined)).toEqual([false, true, true]);
    },
  );
  row(
    "321, 324-328",
    "The config of a server has its command, arguments and variables, which the server gets.",
    async () => {
      expect(await findTypeFaults("MCPServerConfig")).toEqual([]);
      const { command, args } = servers.faulty;
      const connection = { type: "stdio", command, args, env: { OWN_VARIABLE: "own value" } };
      const engine = openEngine({ enabled: true, servers: [{ name: "faulty", connection }] });
      const [row] = await engine.listServers();
      expect(row?.config).toEqual({ command, args, env: { OWN_VARIABLE: "own value" } });
      const { result } = await engine.executeTool("faulty", "environment", {});
      expect(result).toMatchObject({ OWN_VARIABLE: "own value" });
    },
  );
  added("321", "The config of a server is in no JSON and in no copy.", "It may hold secrets.", async () => {
    const rows = await world.engine.listServers();
    expect(rows[0]?.config.command).toBe(servers.github.command);
    expect(JSON.stringify(rows)).not.toContain("told-mcp");
    expect({ ...rows[0] }).not.toHaveProperty("config");
  });

  row(
    "646",
    "What a server has listed is not asked for again, so later answers take less time.",
    async () => {
      const { entry, count } = await changingServer("once");
      const engine = openEngine({ enabled: true, servers: [entry] });
      const time = async (): Promise<number> => {
        const start = performance.now();
        expect(toNames(await engine.listTools("once"))).toEqual(["first"]);
        return performance.now() - start;
      };
      const first = await time();
      const later = [];
      for (let turn = 0; turn < 9; turn++) later.push(await time());
      expect(Math.min(...later)).toBeLessThan(first);
      expect(await count()).toBe(1);
    },
  );
  row(
    "670",
    "Connections are opened when needed and shared, and idle ones are closed: the default is five minutes.",
    async () => {
      const { stdout } = await runMain(["config", "options", "upstreams", "--json"]);
      expect(stdout).toContain("300000");
      const { engine } = world;
      const pids = await Promise.all([1, 2].map(() => engine.executeTool("faulty", "process", {})));
      expect(pids[0]).toEqual(pids[1]);
    },
  );
  row("700", "The same engine answers an agent over MCP.", async () => {
    const engine = openEngine({ ...config, servers: toEntries(["github"]) });
    const session = await openSession(engine);
    const { results } = await session.answer("search_tools", { query: "create github issue" });
    expect((results as unknown[])[0]).toMatchObject({ server: "github", tool: "create_issue" });
    const target = { server: "github", tool: "create_issue", arguments: given };
    expect(await session.answer("execute_tool", target)).toEqual(createdIssue);
    // Engine and agent see one gateway.
    expect(await engine.listServers()).toMatchObject([{ name: "github", status: "connected" }]);
  });
  row("701", "The commands answer with the same config and the same tools.", async () => {
    const run = async (...args: string[]) =>
      JSON.parse((await runMain(["mcp", ...args, "--json"], "anygpt")).stdout) as Record<string, unknown>;
    const { tools } = (await run("tools", "github")) as { tools: { name: string }[] };
    expect(toNames(tools)).toEqual(toNames(await world.engine.listTools("github")));
    expect(await run("execute", "github", "list_repos")).toEqual(
      await world.engine.executeTool("github", "list_repos", {}),
    );
  });
}
