// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseServerJson } from "../../../plugins/lib/server-entry/server-json.ts";
import { collect } from "../../../plugins/sources/collect.ts";
import { fileSource, inlineSource } from "../../../plugins/sources/custom.ts";
import { http, stdio } from "./_expected.ts";
import { byName, createMachine, fixture, mcpServers } from "./_machine.ts";

async function readSource(type: string, text: string, name = "servers.json") {
  const machine = await createMachine({ [`project/${name}`]: text });
  return collect([fileSource({ type, path: `./${name}` })], machine);
}

const github = {
  ...stdio("npx", ["-y", "@modelcontextprotocol/server-github"]),
  description: "GitHub API integration",
};

describe("a file that a user names", () => {
  test("may be the specification's own YAML, whose tools only describe", async () => {
    const collected = await readSource("custom", await fixture("custom.yaml"), "mcp-servers.yaml");
    expect(byName(collected)).toEqual({
      github: {
        ...github,
        title: "GitHub MCP Server",
        declaredTools: [
          { name: "create_issue", description: "Create a GitHub issue" },
          { name: "list_repos", description: "List GitHub repositories" },
        ],
      },
    });
    expect(collected.servers[0]?.origin).toMatchObject({ source: "custom", scope: "config" });
  });

  test("may hold the specification's list of servers", async () => {
    const list = [
      {
        name: "github",
        description: "GitHub API integration",
        connection: { type: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] },
      },
    ];
    expect(byName(await readSource("custom", JSON.stringify({ servers: list })))).toEqual({ github });
  });

  test("may hold the map that every client has", async () => {
    const collected = await readSource(
      "custom",
      mcpServers({ a: { command: "a" }, b: { url: "https://b.example" } }),
    );
    expect(byName(collected)).toEqual({ a: stdio("a"), b: http("https://b.example") });
  });

  test.for([
    ["docker-mcp", "docker-mcp.json", ["docker-github", "docker-filesystem"]],
    ["claude-desktop", "claude-desktop.json", ["desktop-files", "desktop-github"]],
    ["windsurf", "windsurf.json", ["windsurf-github", "windsurf-figma"]],
    ["codex", "codex.toml", ["codex-context7", "codex-figma", "codex-off"]],
  ] as const)("may be of the client %s, wherever it lies", async ([type, name, servers]) => {
    const collected = await readSource(type, await fixture(name), `own-${name}`);
    expect(collected.servers.map((server) => server.name)).toEqual(servers);
    expect(collected.servers[0]?.origin).toMatchObject({ source: type, scope: "config" });
  });

  test("may begin with the home folder", async () => {
    const machine = await createMachine({ "home/.windsurf/mcp.json": mcpServers({ a: { command: "a" } }) });
    const { files } = await collect(
      [fileSource({ type: "windsurf", path: "~/.windsurf/mcp.json" })],
      machine,
    );
    expect(files).toMatchObject([{ file: join(machine.home, ".windsurf", "mcp.json"), status: "read" }]);
  });

  test("is missing without an error", async () => {
    const { files } = await collect(
      [fileSource({ type: "custom", path: "./none.yaml" })],
      await createMachine(),
    );
    expect(files).toMatchObject([{ source: "custom", status: "missing", count: 0 }]);
  });

  test("is broken if it holds no servers in any form", async () => {
    const { files } = await readSource("custom", '{ "server": [] }');
    expect(files[0]?.reason).toContain('The file has neither "servers" nor "mcpServers"');
  });
});

test("servers in the config are those of spec 001 and those of a map", async () => {
  const source = inlineSource(
    [
      {
        name: "github",
        description: "GitHub API integration",
        connection: { type: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-github"] },
      },
    ],
    { remote: { url: "https://a.example/mcp" } },
  );
  const collected = await collect([source], await createMachine());
  expect(byName(collected)).toEqual({ github, remote: http("https://a.example/mcp") });
  expect(collected.servers[0]?.origin).toEqual({ source: "inline", scope: "config" });
});

describe("a server.json of the registry", () => {
  test("starts an npm package with npx, at its version, and asks for what it needs", async () => {
    expect(byName(await readSource("server-json", await fixture("server-npm.json")))).toEqual({
      "io.github.user/brave-search": {
        ...stdio(
          "npx",
          ["-y", "@modelcontextprotocol/server-brave-search@1.0.2", "--country", "de", "${TARGET_DIR}"],
          {
            env: { BRAVE_API_KEY: "${BRAVE_API_KEY}", LOG_LEVEL: "${LOG_LEVEL:-info}", MODE: "stdio" },
            envNames: ["PROXY"],
          },
        ),
        description: "MCP server for the Brave Search API",
      },
    });
  });

  test("starts a container with docker, also in the spelling of 2025", async () => {
    expect(byName(await readSource("custom", await fixture("server-oci-2025.json")))).toEqual({
      "io.github.user/database": {
        ...stdio(
          "docker",
          [
            ...[
              "run",
              "-i",
              "--rm",
              "-e",
              "DB_PASSWORD",
              "--mount",
              "type=bind,src=${SOURCE_PATH},dst=/data",
            ],
            ...["ghcr.io/user/database-mcp:3.1.0", "/data"],
          ],
          { env: { DB_PASSWORD: "${DB_PASSWORD}" } },
        ),
        description: "Runs in a container",
      },
    });
  });

  test("reaches a remote by URL, also as the registry wraps it", async () => {
    const text = await fixture("server-remote.json");
    const expected = {
      "io.github.user/remote-weather": {
        ...http("https://api.example.com/mcp", {
          Authorization: "Bearer ${TOKEN}",
          "X-Api-Key": "${X_API_KEY}",
        }),
        description: "Remote MCP server reachable over streamable HTTP.",
      },
    };
    expect(byName(await readSource("custom", text))).toEqual(expected);
    expect(
      byName(await readSource("server-json", `{ "servers": [${text}], "metadata": { "count": 1 } }`)),
    ).toEqual(expected);
  });

  test.for([
    ["pypi", { identifier: "weather", version: "0.5.0" }, "uvx", ["weather@0.5.0"]],
    ["nuget", { identifier: "Weather", version: "1.0.0" }, "dnx", ["Weather@1.0.0", "--yes"]],
    [
      "npm",
      { identifier: "weather", runtimeArguments: [{ type: "named", name: "--yes" }] },
      "npx",
      ["-y", "weather"],
    ],
    [
      "oci",
      { identifier: "docker.io/user/weather:1.0" },
      "docker",
      ["run", "-i", "--rm", "docker.io/user/weather:1.0"],
    ],
    [
      "oci",
      { identifier: "user/weather", version: "1.0" },
      "docker",
      ["run", "-i", "--rm", "user/weather:1.0"],
    ],
  ] as const)("a package of %s with %j is started by %s", ([registryType, more, command, args]) => {
    const { entry } = parseServerJson({
      name: "x",
      packages: [{ registryType, transport: { type: "stdio" }, ...more }],
    });
    expect(entry).toMatchObject({ command, args });
  });

  test.for([
    ["only a bundle", { packages: [{ registryType: "mcpb", identifier: "https://a.example/a.mcpb" }] }],
    [
      "only a package that listens on a port",
      { packages: [{ registryType: "npm", identifier: "x", transport: { type: "sse" } }] },
    ],
    ["nothing", {}],
    ["an option for a package", { packages: [{ registryType: "oci", identifier: "--privileged" }] }],
    [
      "a version that reads a variable",
      { packages: [{ registryType: "npm", identifier: "x", version: "${HOME}" }] },
    ],
    [
      "a URL that reads a variable",
      { remotes: [{ type: "sse", url: "https://a.example/?k=${AWS_SECRET_ACCESS_KEY}" }] },
    ],
    [
      "a variable without a name",
      { packages: [{ registryType: "npm", identifier: "x", environmentVariables: [{}] }] },
    ],
  ] as const)("is refused if it has %s", ([, data]) => {
    expect(parseServerJson({ name: "x", ...data }).reason).toEqual(expect.any(String));
  });
});
