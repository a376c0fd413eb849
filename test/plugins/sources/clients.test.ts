import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clientNames } from "../../../plugins/sources/clients.ts";
import type { Importer } from "./_expected.ts";
import { importers } from "./_importers.ts";
import { byName, collectClients, createMachine, fixture, mcpServers, platforms } from "./_machine.ts";

function userPaths({ user = [] }: Importer, platform: (typeof platforms)[number]): readonly string[] {
  const all = Array.isArray(user) ? user : [user];
  return [...new Set(all.map((path) => (typeof path === "string" ? path : path[platform])))];
}

const rows = importers.flatMap((importer) =>
  platforms.flatMap((platform) => [
    ...userPaths(importer, platform).map((path) => ({ ...importer, platform, path, scope: "user" })),
    ...(importer.project ?? []).map((path) => ({ ...importer, platform, path, scope: "project" })),
  ]),
);

test.for(rows)("$client reads $path on $platform as servers of the $scope", async (row) => {
  const machine = await createMachine({ [row.path]: await fixture(row.fixture) }, { platform: row.platform });
  const collected = await collectClients(machine, row.client);
  const file = join(machine.project, "..", row.path);
  expect(byName(collected)).toEqual(row.servers);
  for (const { origin } of collected.servers)
    expect(origin).toEqual({ source: row.client, file, scope: row.scope });
  expect(collected.files.filter(({ status }) => status !== "missing")).toEqual([
    { source: row.client, file, scope: row.scope, status: "read", count: Object.keys(row.servers).length },
  ]);
  expect(collected.warnings).toEqual([]);
});

test("every client has a fixture", () => {
  expect(new Set(importers.map(({ client }) => client))).toEqual(new Set(clientNames));
});

test("all clients at once give every server of each", async () => {
  const files: Record<string, string> = {};
  const expected: Record<string, unknown> = {};
  for (const importer of importers) {
    const path = userPaths(importer, "linux")[0] ?? importer.project?.[0] ?? "";
    files[path] = await fixture(importer.fixture);
    Object.assign(expected, importer.servers);
  }
  const collected = await collectClients(await createMachine(files));
  // Claude Code's own file says that this one of the project is refused.
  expected["team-refused"] = { ...(expected["team-refused"] as object), disabled: true };
  expect(byName(collected)).toEqual(expected);
  expect(new Set(collected.servers.map(({ origin }) => origin.source))).toEqual(new Set(clientNames));
  expect(collected.files.filter(({ status }) => status === "broken")).toEqual([]);
  expect(collected.files.filter(({ status }) => status === "read")).toHaveLength(importers.length);
  expect(collected.warnings).toEqual([]);
});

test("missing files are no error, and every searched path is named", async () => {
  const { servers, files, warnings } = await collectClients(await createMachine());
  expect(servers).toEqual([]);
  expect(warnings).toEqual([]);
  expect(new Set(files.map(({ status }) => status))).toEqual(new Set(["missing"]));
  expect(new Set(files.map(({ source }) => source))).toEqual(new Set(clientNames));
});

describe("claude-desktop", () => {
  const packaged = "local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json";

  test("on Windows, the packaged application's file counts and the older one is not read", async () => {
    const machine = await createMachine(
      {
        [packaged]: mcpServers({ new: { command: "new" } }),
        "appdata/Claude/claude_desktop_config.json": mcpServers({ old: { command: "old" } }),
      },
      { platform: "win32" },
    );
    expect(Object.keys(byName(await collectClients(machine, "claude-desktop")))).toEqual(["new"]);
  });
});

describe("claude-code", () => {
  test("$CLAUDE_CONFIG_DIR says where its files are", async () => {
    const files = {
      "home/elsewhere/.claude.json": mcpServers({ moved: { command: "moved" } }),
      "home/.claude.json": mcpServers({ left: { command: "left" } }),
    };
    const machine = await createMachine(files);
    const env = { CLAUDE_CONFIG_DIR: join(machine.home, "elsewhere") };
    expect(Object.keys(byName(await collectClients({ ...machine, env }, "claude-code")))).toEqual(["moved"]);
  });

  test.for([
    ["project/.claude/settings.local.json", { disabledMcpjsonServers: ["a"] }],
    ["project/.claude/settings.json", { disabledMcpjsonServers: ["a"] }],
    ["home/.claude/settings.json", { disabledMcpjsonServers: ["a"] }],
    ["home/.claude.json", { projects: { "<project>": { disabledMcpjsonServers: ["a"] } } }],
  ] as const)("a server of the project that is refused in %s is switched off", async ([path, settings]) => {
    const machine = await createMachine({
      "project/.mcp.json": mcpServers({ a: { command: "a" }, b: { command: "b" } }),
      [path]: JSON.stringify(settings),
    });
    const found = byName(await collectClients(machine, "claude-code"));
    expect(found["a"]?.disabled).toBe(true);
    expect(found["b"]?.disabled).toBeUndefined();
  });

  test("an approval in Claude Code is none here: the scope stays that of the project", async () => {
    const machine = await createMachine({
      "project/.mcp.json": mcpServers({ a: { command: "a" } }),
      "project/.claude/settings.json": JSON.stringify({ enableAllProjectMcpServers: true }),
      "home/.claude.json": JSON.stringify({ projects: { "<project>": { enabledMcpjsonServers: ["a"] } } }),
    });
    const { servers } = await collectClients(machine, "claude-code");
    expect(servers.map(({ origin }) => origin.scope)).toEqual(["project"]);
  });

  test("a server for this project hides the one of the same name for all", async () => {
    const machine = await createMachine({
      "home/.claude.json": JSON.stringify({
        mcpServers: { a: { command: "for-all" } },
        projects: { "<project>/": { mcpServers: { a: { command: "for-this" } } } },
      }),
    });
    const collected = await collectClients(machine, "claude-code");
    expect(byName(collected)["a"]?.connection).toMatchObject({ command: "for-this" });
    expect(collected.warnings.map(({ code }) => code)).toEqual(["SAME_NAME"]);
  });
});

test.for([
  ["codex", "CODEX_HOME", "config.toml", '[mcp_servers.a]\ncommand = "a"'],
  ["copilot", "COPILOT_HOME", "mcp-config.json", mcpServers({ a: { command: "a" } })],
  ["mistral-vibe", "VIBE_HOME", "config.toml", '[[mcp_servers]]\nname = "a"\ncommand = "a"'],
  ["opencode", "OPENCODE_CONFIG_DIR", "opencode.json", '{ "mcp": { "a": { "command": ["a"] } } }'],
  ["opencode", "XDG_CONFIG_HOME", "opencode/opencode.json", '{ "mcp": { "a": { "command": ["a"] } } }'],
  [
    "claude-desktop",
    "XDG_CONFIG_HOME",
    "Claude/claude_desktop_config.json",
    mcpServers({ a: { command: "a" } }),
  ],
] as const)("%s looks in $%s", async ([client, name, file, text]) => {
  const machine = await createMachine({ [`home/moved/${file}`]: text });
  const env = { [name]: join(machine.home, "moved") };
  expect(Object.keys(byName(await collectClients({ ...machine, env }, client)))).toEqual(["a"]);
});

test.for([
  ["cline", "CLINE_MCP_SETTINGS_PATH", mcpServers({ a: { command: "a" } })],
  ["opencode", "OPENCODE_CONFIG", '{ "mcp": { "a": { "type": "local", "command": ["a"] } } }'],
] as const)("%s reads the file in $%s", async ([client, name, text]) => {
  const machine = await createMachine({ "home/own.json": text });
  const env = { [name]: "~/own.json" };
  expect(Object.keys(byName(await collectClients({ ...machine, env }, client)))).toEqual(["a"]);
});

test("Windows folders are found in the home folder when no variable names them", async () => {
  const machine = await createMachine(
    { "home/AppData/Roaming/Code/User/mcp.json": '{ "servers": { "a": { "command": "a" } } }' },
    { platform: "win32" },
  );
  expect(Object.keys(byName(await collectClients({ ...machine, env: {} }, "vscode")))).toEqual(["a"]);
});

test("continue: a file of its folder may be one server, and its older form has no names", async () => {
  const machine = await createMachine({
    "project/.continue/mcpServers/lonely.json": '{ "command": "lonely" }',
    "home/.continue/config.json": JSON.stringify({
      experimental: { modelContextProtocolServers: [{ transport: { type: "stdio", command: "older" } }] },
    }),
  });
  expect(Object.keys(byName(await collectClients(machine, "continue")))).toEqual(["lonely", "continue-1"]);
});

test("crush: a value that is the output of a command is refused, and the command is not run", async () => {
  const machine = await createMachine({
    "home/.config/crush/crush.json": JSON.stringify({
      mcp: { a: { type: "http", url: "https://a.example", headers: { Key: "$(cat ~/key)" } } },
    }),
  });
  const { servers, warnings } = await collectClients(machine, "crush");
  expect(servers).toEqual([]);
  expect(warnings[0]?.code).toBe("ENTRY_INVALID");
});

test("in the home folder, servers are the user's and not a project's", async () => {
  const machine = await createMachine({ "home/.cursor/mcp.json": mcpServers({ a: { command: "a" } }) });
  const { servers, files } = await collectClients({ ...machine, project: machine.home }, "cursor");
  expect(servers.map(({ origin }) => origin.scope)).toEqual(["user"]);
  expect(files).toHaveLength(1);
});
