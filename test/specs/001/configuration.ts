import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import type { DiscoveryEngine } from "../../../presets/anygpt/mod.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { applyRules, clientFile, customFile, mcpServers, openEngine, toServers, world } from "./world.ts";

const names = ["github_create_issue", "github_delete_issue", "create_issue", "fs_read", "delete_file"];
const match = async (...pattern: string[]): Promise<string[]> =>
  (await applyRules([{ pattern, enabled: true }], { some: names })).enabled;

/** Opens an engine on the file of a source. It starts no server: those of the formats are not for tests. */
async function openSource(type: string, file: string, text: string): Promise<DiscoveryEngine> {
  await writeFiles(world.project, { [file]: text });
  return openEngine({ sources: [{ type, path: `./${file}` }] }, { discover: "none", useCache: false });
}

/** Writes a file of a source and returns the connections of the servers in it. */
async function readSource(type: string, file: string, content: object): Promise<JsonObject> {
  const engine = await openSource(type, file, JSON.stringify(content));
  const statuses = engine.gateway.services.servers?.statuses() ?? [];
  return Object.fromEntries(statuses.map(({ config }) => [config.name, config.connection]));
}

/** Lines 176 to 338: the config, rules and formats of sources. */
export function configurationRows({ row, prose }: Specification): void {
  prose(
    176,
    178,
    180,
    "183-184",
    187,
    192,
    "206-207",
    221,
    223,
    225,
    228,
    235,
    238,
    244,
    247,
    253,
    "256-257",
    268,
    270,
    290,
    306,
    322,
  );

  row(
    "185",
    "A config that is not enabled has no servers; a value other than true or false is refused.",
    async () => {
      const engine = await openEngine({ enabled: false, servers: toServers(mcpServers) });
      expect(await engine.listServers()).toEqual([]);
      for (const enabled of ["false", 0, null, []]) {
        await expect(openEngine({ enabled })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
      }
    },
  );

  row("188-190", "The cache is on, and holds for 3600 seconds; both can be set.", async () => {
    const plain = await openEngine({});
    expect(plain.getConfig().cache).toMatchObject({ enabled: true, ttl: 3600 });
    const set = await openEngine({ cache: { enabled: false, ttl: 60 } });
    expect(set.getConfig().cache).toMatchObject({ enabled: false, ttl: 60 });
  });

  row("193-204", "The four kinds of sources are read from their paths, with ~ for the home.", async () => {
    const claude = "Library/Application Support/Claude/claude_desktop_config.json";
    await writeFiles(world.home, {
      ".docker/mcp-servers.json": clientFile("a"),
      [claude]: clientFile("b"),
      ".windsurf/mcp.json": clientFile("c"),
    });
    await writeFiles(world.project, { "mcp-servers.yaml": customFile({ d: ["d"] }) });
    const engine = await openEngine({
      sources: [
        { type: "docker-mcp", path: "~/.docker/mcp-servers.json" },
        { type: "claude-desktop", path: `~/${claude}` },
        { type: "windsurf", path: "~/.windsurf/mcp.json" },
        { type: "custom", path: "./mcp-servers.yaml" },
      ],
    });
    expect((await engine.listServers()).map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
  });

  const sample = [
    { pattern: ["*github*", "/issue/"], enabled: true, tags: ["github", "issues"] },
    { pattern: ["*filesystem*", "/read/", "/write/"], enabled: true, tags: ["filesystem"] },
    { pattern: ["*dangerous*", "*delete*"], enabled: false, tags: ["dangerous"] },
  ];
  row(
    "208-214",
    "Rules of globs and regular expressions enable and tag the tools that they match.",
    async () => {
      const { enabled, tags } = await applyRules(sample);
      expect(enabled).toEqual(["create_issue", "update_issue", "delete_issue", "read_file", "write_file"]);
      expect(tags).toMatchObject({ create_issue: ["github", "issues"], read_file: ["filesystem"] });
    },
  );

  row(
    "216-218",
    "A rule disables and tags what it matches, unless an earlier rule has decided.",
    async () => {
      const { enabled, tags } = await applyRules(sample);
      expect(enabled).not.toContain("delete_repo");
      expect(tags).toMatchObject({
        delete_repo: ["dangerous"],
        delete_issue: ["github", "issues", "dangerous"],
      });
      expect(enabled).toContain("delete_issue");
    },
  );

  row("229", "Stars on both sides match a part of a name.", async () => {
    expect(await match("*github*")).toEqual(["github_create_issue", "github_delete_issue"]);
  });
  row("230", "A star at the end matches the beginning of a name.", async () => {
    expect(await match("github_*")).toEqual(["github_create_issue", "github_delete_issue"]);
    expect(await match("create_*")).toEqual(["create_issue"]);
  });
  row("231", "A star at the beginning matches the end of a name.", async () => {
    expect(await match("*_issue")).toEqual(["github_create_issue", "github_delete_issue", "create_issue"]);
  });
  row("232", "A list of exclusions alone means every tool but those.", async () => {
    const kept = ["github_create_issue", "create_issue", "fs_read"];
    expect(await match("!*delete*")).toEqual(kept);
    expect((await applyRules([{ pattern: ["!*delete*"] }], { some: names })).enabled).toEqual(kept);
  });
  row("239", "A regular expression ignores case with i.", async () => {
    expect(await match("/GitHub.*ISSUE/i")).toEqual(["github_create_issue", "github_delete_issue"]);
    expect(await match("/GitHub.*ISSUE/")).toEqual([]);
  });
  row("240", "A regular expression can match a whole name out of several.", async () => {
    expect(await match("/^fs_(read|write)$/")).toEqual(["fs_read"]);
  });
  row("241", "A word boundary matches where there is one, and _ is none.", async () => {
    const rules = [{ pattern: ["/\\b(create|update)\\b/"], enabled: true }];
    const { enabled } = await applyRules(rules, { some: ["create-issue", "create", "create_issue"] });
    expect(enabled).toEqual(["create-issue", "create"]);
  });
  row("248-250", "An exclusion holds wherever it stands in a list.", async () => {
    const pattern = ["*github*", "/issue/", "!*delete*"];
    const { enabled, tags } = await applyRules([{ pattern, enabled: true, tags: ["github", "safe"] }], {
      some: names,
    });
    expect(enabled).toEqual(["github_create_issue", "create_issue"]);
    expect(tags["github_delete_issue"]).toEqual([]);
  });
  row("258-265", "A rule with a server is for the tools of that server alone.", async () => {
    const rules = [
      { server: "github", pattern: ["*issue*", "*pr*"], enabled: true },
      { server: "filesystem", pattern: ["*delete*", "*rm*", "*remove*"], enabled: false },
    ];
    const tools = { github: ["list_issues", "merge_pr", "star"], filesystem: ["issue_file", "rm_file"] };
    expect((await applyRules(rules, tools)).enabled).toEqual(["list_issues", "merge_pr"]);
    const denied = await applyRules(rules.slice(1), tools);
    expect(denied.enabled).toEqual(["list_issues", "merge_pr", "star", "issue_file"]);
  });

  row("273-287", "The format of Docker's toolkit: command, arguments and variables.", async () => {
    const connections = await readSource("docker-mcp", "toolkit.json", {
      mcpServers: {
        github: {
          command: "docker",
          args: ["exec", "mcp-github", "mcp-github"],
          env: { GITHUB_TOKEN: `\${GITHUB_TOKEN}` },
        },
        filesystem: { command: "docker", args: ["exec", "mcp-filesystem", "mcp-filesystem"] },
      },
    });
    expect(connections).toMatchObject({
      github: {
        type: "stdio",
        command: "docker",
        args: ["exec", "mcp-github", "mcp-github"],
        env: { GITHUB_TOKEN: `\${GITHUB_TOKEN}` },
      },
      filesystem: { command: "docker", args: ["exec", "mcp-filesystem", "mcp-filesystem"] },
    });
  });
  row("293-303", "The format of Claude Desktop.", async () => {
    const github = {
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-github"],
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: `\${GITHUB_TOKEN}` },
    };
    expect(await readSource("claude-desktop", "claude.json", { mcpServers: { github } })).toMatchObject({
      github,
    });
  });
  row("309-319", "The format of Windsurf.", async () => {
    const github = {
      command: "node",
      args: ["/path/to/github-mcp/index.js"],
      env: { GITHUB_TOKEN: `\${GITHUB_TOKEN}` },
    };
    expect(await readSource("windsurf", "windsurf.json", { mcpServers: { github } })).toMatchObject({
      github,
    });
  });
  row(
    "325-338",
    "The custom format in YAML: name, description, connection and known tools, which are found before the server is asked.",
    async () => {
      const { gateway, ...engine } = await openSource(
        "custom",
        "custom.yaml",
        `servers:
  hub:
    name: 'GitHub MCP Server'
    description: 'GitHub API integration'
    connection:
      type: 'stdio'
      command: 'npx'
      args: ['-y', '@modelcontextprotocol/server-github']
    tools:
      - name: 'create_issue'
        description: 'Create a GitHub issue'
      - name: 'list_repos'
        description: 'List GitHub repositories'
`,
      );
      expect(gateway.services.servers?.status("hub")?.config).toMatchObject({
        description: "GitHub API integration",
        connection: { type: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] },
      });
      expect(gateway.catalog.tools("hub")).toMatchObject([
        { name: "create_issue", description: "Create a GitHub issue" },
        { name: "list_repos", description: "List GitHub repositories" },
      ]);
      expect(gateway.catalog.server("hub")).toMatchObject({ title: "GitHub MCP Server" });
      expect(await engine.listServers()).toMatchObject([
        { name: "hub", description: "GitHub API integration", toolCount: 2, enabledCount: 2 },
      ]);
      expect((await engine.searchTools("create issue"))[0]).toMatchObject({
        server: "hub",
        tool: "create_issue",
        summary: "Create a GitHub issue",
      });
    },
  );
}
