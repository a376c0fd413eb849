// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables are texts here until a server is connected
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { collect } from "../../../plugins/sources/collect.ts";
import { fileSource } from "../../../plugins/sources/custom.ts";
import { expandTemplate, expandTemplates } from "../../../plugins/sources/docker-mcp.ts";
import { http, stdio } from "./_expected.ts";
import { byName, collectClients, createMachine, fixture, platforms } from "./_machine.ts";

async function toolkit(folder = "home/.docker/mcp"): Promise<Record<string, string>> {
  return {
    [`${folder}/registry.yaml`]: await fixture("docker-registry.yaml"),
    [`${folder}/config.yaml`]: await fixture("docker-config.yaml"),
    [`${folder}/tools.yaml`]: await fixture("docker-tools.yaml"),
    [`${folder}/catalogs/docker-mcp.yaml`]: await fixture("docker-catalog.yaml"),
  };
}

const run = ["run", "-i", "--rm", "--init", "--security-opt", "no-new-privileges"];
const expected = {
  "toolkit-brave": {
    ...stdio(
      "docker",
      [
        ...run,
        "-e",
        "BRAVE_API_KEY",
        "-e",
        "BRAVE_MCP_TRANSPORT",
        "-e",
        "BRAVE_REGION",
        "mcp/brave-search@sha256:0f1d",
      ],
      {
        env: { BRAVE_API_KEY: "${BRAVE_API_KEY}", BRAVE_MCP_TRANSPORT: "stdio", BRAVE_REGION: "eu" },
      },
    ),
    description: "Search the web with Brave.",
    tools: { include: ["brave_web_search"] },
  },
  "toolkit-filesystem": {
    ...stdio("docker", [
      ...run,
      ...["--network", "none"],
      ...["-v", "/Users/ada/code:/Users/ada/code", "-v", "C:\\data:/C/data"],
      ...["mcp/filesystem@sha256:35fc", "/Users/ada/code", "/C/data"],
    ]),
    description: "Local files.",
  },
  "toolkit-remote": {
    ...http("https://toolkit.example/mcp", { CONTEXT7_API_KEY: "${CONTEXT7_API_KEY}" }),
    description: "Library docs.",
  },
};

describe("Docker's MCP toolkit", () => {
  test.for(platforms)("gives the servers that are switched on, by their catalog, on %s", async (platform) => {
    const collected = await collectClients(await createMachine(await toolkit(), { platform }), "docker-mcp");
    expect(byName(collected)).toEqual(expected);
    for (const { origin } of collected.servers)
      expect(origin).toMatchObject({ source: "docker-mcp", scope: "user" });
  });

  test("names those it cannot give, and why", async () => {
    const { warnings } = await collectClients(await createMachine(await toolkit()), "docker-mcp");
    expect(warnings.map(({ message }) => message.replace(/^.*the server/, "the server"))).toEqual([
      'the server "toolkit-curl" cannot be used: it is a container for each tool, not a server.',
      'the server "toolkit-forgotten" cannot be used: no catalog on this computer describes it.',
    ]);
  });

  test("is also found where a user says it is", async () => {
    const machine = await createMachine(await toolkit("home/moved"));
    const path = join(machine.home, "moved", "registry.yaml");
    expect(byName(await collect([fileSource({ type: "docker-mcp", path })], machine))).toEqual(expected);
  });

  test("a broken catalog is reported, and the servers of the others are there", async () => {
    const files = { ...(await toolkit()), "home/.docker/mcp/catalogs/another.yaml": "registry: [" };
    const { servers, files: read } = await collectClients(await createMachine(files), "docker-mcp");
    expect(servers).toHaveLength(3);
    expect(read.filter(({ status }) => status === "broken")).toMatchObject([
      { reason: expect.stringContaining("another.yaml:") },
    ]);
  });
});

describe("a template", () => {
  const settings = { a: { b: "x", list: ["p", "q"], none: [] }, n: 5 };

  test.for([
    ["plain", ["plain"]],
    ["{{a.b}}", ["x"]],
    ["{{ a . b }}:{{n}}", ["x:5"]],
    ["{{a.unknown}}", []],
    ["{{a.b.c.d}}", []],
    ["{{a}}", []],
    ["{{a.list}}", ["p", "q"]],
    ["{{a.list|into}}", ["p", "q"]],
    ["{{a.list|volume|into}}", ["p:p", "q:q"]],
    ["{{a.list|first}}", ["p"]],
    ["{{a.list|last}}", ["q"]],
    ["{{a.list|mount_as:/data:ro}}", ["p:/data:ro"]],
    ["{{a.none|or:[]|volume|into}}", []],
    ["{{a.none|or:[d]}}", ["d"]],
    ["{{a.b|or:d}}", ["x"]],
    ["{{constructor.name}}", []],
  ] as const)("%s becomes %j", ([text, values]) => {
    expect(expandTemplate(text, settings)).toEqual(values);
  });

  test("that is empty leaves nothing in a list", () => {
    expect(expandTemplates(["{{a.unknown}}", "x", "{{a.unknown|volume|into}}"], settings)).toEqual(["x"]);
    expect(expandTemplates("no list", settings)).toEqual([]);
  });
});
