import { afterEach, describe, expect, test } from "vitest";
import { GatewayError, type JsonObject } from "../../../../core/mod.ts";
import { CONNECT_FAILED, NEEDS_APPROVAL } from "../../../../core/services/servers.ts";
import { describeSearch, searchJson } from "../../../../plugins/discovery/commands/report.ts";
import { closeServers, listen } from "../../../fixtures/http-servers.ts";
import { dead, faulty, place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";
import { listIssues, remote } from "../_fixtures.ts";

afterEach(closeServers);

/** A registry with these servers, and a config with those. */
async function withRegistry(
  servers: readonly JsonObject[],
  mcpServers: JsonObject,
): Promise<{ asked: () => number }> {
  let asked = 0;
  const { origin } = await listen((request, response) => {
    asked++;
    const search = new URL(request.url ?? "/", "http://localhost").searchParams.get("search") ?? "";
    const found = servers.filter(({ name }) => String(name).includes(search));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ servers: found.map((server) => ({ server })), metadata: {} }));
  });
  await place({ project: { "toolpipe.config.json": { mcpServers } } });
  process.env["TOOLPIPE_REGISTRIES"] = origin;
  return { asked: () => asked };
}

const program: JsonObject = {
  name: "io.example/issues-program",
  description: "Issues, as a program",
  version: "1.0.0",
  packages: [{ registryType: "npm", identifier: "issues", version: "1.0.0", transport: { type: "stdio" } }],
};
const inside: JsonObject = {
  name: "io.example/issues-inside",
  version: "1.0.0",
  remotes: [{ type: "streamable-http", url: "https://10.0.0.1/mcp" }],
};

describe("discover", () => {
  test("finds what the user's own servers can do, and asks no registry", async () => {
    const { asked } = await withRegistry([program], { mine: faulty(), gone: dead });
    const text = await runMain(["discover", "echo what it is told"]);
    expect(text.stdout).toMatch(
      /^Of your own servers, 1 server can do "echo what it is told":\n\nmine\n {2}echo: Says/,
    );
    expect(text.stdout).toContain(
      '✗ gone: The command "to-be-found" could not be started: it was not found.',
    );
    expect(text.code).toBe(0);
    const json = JSON.parse((await runMain(["discover", "echo", "--json"])).stdout);
    expect(json).toMatchObject({
      from: "configured",
      servers: [{ name: "mine", tools: [{ name: "echo" }] }],
      failures: [{ server: "gone", code: "SPAWN_FAILED" }],
    });
    expect(asked()).toBe(0);
  });

  test("finds what a registry knows where none of them can, and neither starts nor reaches what it must not", async () => {
    await withRegistry([program, inside], { mine: faulty() });
    const { code, stdout } = await runMain(["discover", "issues", "--json"]);
    const { from, servers, failures } = JSON.parse(stdout);
    expect({ code, from, servers }).toEqual({ code: 0, from: "registry", servers: [] });
    const codes = failures.map((failure: JsonObject) => [failure["server"], failure["code"]]);
    expect(Object.fromEntries(codes)).toEqual({
      "io.example/issues-program": "NEEDS_APPROVAL",
      "io.example/issues-inside": "SSRF_BLOCKED",
    });
  });

  test("searches the registries alone with --elsewhere, and caches their answers", async () => {
    const { asked } = await withRegistry([program], { mine: faulty() });
    const { stdout } = await runMain(["discover", "issues", "--elsewhere"]);
    expect(stdout).toContain("io.example/issues-program: Issues, as a program\n  - Not asked: ");
    const before = asked();
    expect(before).toBeGreaterThan(0);
    await runMain(["discover", "issues", "--elsewhere"]);
    expect(asked()).toBe(before);
    await runMain(["discover", "issues", "--elsewhere", "--fresh"]);
    expect(asked()).toBeGreaterThan(before);
  });

  test("ends with exit code 2 if no server can do it", async () => {
    await withRegistry([], { mine: faulty() });
    const { code, stdout } = await runMain(["discover", "xylophone"]);
    expect(stdout).toBe('No server is known that can do "xylophone".\n');
    expect(code).toBe(2);
  });

  test("wants to be told what to look for", async () => {
    await withRegistry([], {});
    const { code, stderr } = await runMain(["discover", " "]);
    expect(stderr).toContain("The query is empty.");
    expect(code).toBe(1);
  });
});

describe("discover prints the answers of a registry", () => {
  const origin = { source: "registry", scope: "project" } as const;
  const tool = { ...listIssues, inputType: ":any", domains: ["github"], categories: ["crud.read"] };
  const found = {
    from: "registry",
    servers: [
      {
        config: {
          ...remote("io.a/issues", "https://a.example", { origin }),
          description: "Issues of a repository",
        },
        tools: [
          tool,
          ...Array.from({ length: 9 }, (_, index) => ({ ...tool, name: `tool_${index}`, description: "" })),
        ],
      },
    ],
    failures: [
      {
        server: "io.b/issues",
        config: remote("io.b/issues", "https://b.example", { origin }),
        error: new GatewayError(NEEDS_APPROVAL, "It is a program."),
      },
      { server: "https://other.example", error: new GatewayError(CONNECT_FAILED, "It cannot be reached.") },
    ],
  } as const;

  test("with its tools, with what was not asked, and with what to do next", () => {
    expect(describeSearch("issues", found)).toBe(`A registry knows 2 servers for "issues":

io.a/issues: Issues of a repository
  list_issues: List issues in a GitHub repository
  tool_0
  tool_1
  tool_2
  tool_3
  tool_4
  tool_5
  tool_6
  and 2 more tools

io.b/issues
  - Not asked: It is a program.

✗ https://other.example: It cannot be reached.

Look at one: toolpipe registry show NAME. Add it: toolpipe registry add NAME
`);
  });

  test("whole in JSON", () => {
    const json = searchJson(found) as { servers: { tools: object[] }[]; failures: object[] };
    expect(json.servers[0]?.tools).toHaveLength(10);
    expect(json.servers[0]?.tools[0]).toEqual({
      name: "list_issues",
      summary: "List issues in a GitHub repository",
      inputType: ":any",
      domains: ["github"],
      categories: ["crud.read"],
    });
    expect(json.failures).toEqual([
      { server: "io.b/issues", code: "NEEDS_APPROVAL", message: "It is a program." },
      { server: "https://other.example", code: "CONNECT_FAILED", message: "It cannot be reached." },
    ]);
  });

  test("and no untrusted string steers the terminal", () => {
    const evil = "\u001b]0;title\u0007\u001b[2Jname\n✓ all is well";
    const [server] = found.servers;
    const text = describeSearch("x", {
      ...found,
      servers: [
        {
          config: { ...server.config, name: evil, description: evil },
          tools: [{ ...tool, name: evil, description: evil }],
        },
      ],
    });
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
    expect(text).not.toMatch(/^✓/m);
  });
});
