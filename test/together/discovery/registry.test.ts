import { afterEach, describe, expect, test } from "vitest";
import { GatewayError, type JsonObject } from "../../../core/mod.ts";
import type { Registries, RegistryEntry } from "../../../core/services/registries.ts";
import { CONNECT_FAILED } from "../../../core/services/servers.ts";
import { closeServers } from "../../fixtures/http-servers.ts";
import { faked, listIssues, remote } from "../../plugins/discovery/_fixtures.ts";
import { catchFailure } from "../../support/failure.ts";
import { pooled } from "./_pool.ts";

afterEach(closeServers);

const OFFICIAL = "io.modelcontextprotocol.registry/official";

/** An entry as a registry sends it. */
function entry(name: string, more: JsonObject = {}, status = "active"): JsonObject {
  const server = { name, version: "1.2.3", description: `The server ${name}`, ...more };
  return { server, _meta: { [OFFICIAL]: { status, isLatest: true } } };
}

const withUrl = (url: string): JsonObject => ({ remotes: [{ type: "streamable-http", url }] });
const program: JsonObject = {
  packages: [
    { registryType: "npm", identifier: "some-server", version: "1.0.0", transport: { type: "stdio" } },
  ],
};

/** An entry as the service gives it. */
function toEntry({ server, _meta }: JsonObject): RegistryEntry {
  const { [OFFICIAL]: meta } = _meta as Record<string, Pick<RegistryEntry, "status" | "isLatest">>;
  const { name, version, description } = server as Record<string, string>;
  return {
    name: name ?? "",
    version: version ?? "",
    description: description ?? "",
    status: meta?.status ?? "active",
    isLatest: true,
    registry: "https://registry.example",
    server: server as JsonObject,
  };
}

/** A registry in memory that searches names for a string, as real ones do. */
function createRegistry(...entries: readonly JsonObject[]): Registries & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async search(query) {
      asked.push(query);
      const all = entries.map(toEntry);
      return { entries: all.filter(({ name }) => name.includes(query)), troubles: [] };
    },
  };
}

describe("discovering from a registry", () => {
  test("asks every server it names and keeps failures apart", async () => {
    const registry = createRegistry(
      entry("io.github.a/github", withUrl("https://a.example/mcp")),
      entry("io.github.b/github", withUrl("https://b.example/mcp")),
      entry("io.github.c/github"),
      entry("io.github.d/github", withUrl("https://d.example/mcp"), "deleted"),
    );
    const service = faked(
      ({ name }) => ({
        onOpen() {
          if (name.includes(".b/")) throw new GatewayError(CONNECT_FAILED, "It cannot be reached.");
        },
      }),
      { registries: registry },
    );
    const { servers, failures } = await service.discoverFromRegistry("/github");
    expect(servers.map(({ config, tools }) => [config.name, tools.length])).toEqual([
      ["io.github.a/github", 1],
    ]);
    expect(failures.map(({ server, error }) => [server, error.code])).toEqual([
      ["io.github.b/github", "CONNECT_FAILED"],
      ["io.github.c/github", "CONFIG_INVALID"],
    ]);
  });

  test("keeps to the limit of servers at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `io.example/server-${index}`);
    let now = 0;
    let most = 0;
    const service = faked(
      {
        async onOpen() {
          most = Math.max(most, ++now);
          await new Promise((resolve) => setTimeout(resolve, 5));
          now--;
        },
      },
      {
        registries: createRegistry(
          ...names.map((name, index) => entry(name, withUrl(`https://s${index}.example/`))),
        ),
      },
    );
    expect((await service.discoverFromRegistry("server")).servers).toHaveLength(12);
    expect(most).toBe(5);
    most = 0;
    await service.discoverFromRegistry("server", { maxParallelDiscoveries: 2 });
    expect(most).toBe(2);
  });

  test("starts no program, and tells how to add one", async () => {
    const service = pooled({
      registries: createRegistry(entry("io.github.a/tool", program)),
    });
    const { servers, failures } = await service.discoverFromRegistry("tool");
    expect(servers).toEqual([]);
    expect(failures.map(({ error }) => error.code)).toEqual(["NEEDS_APPROVAL"]);
    expect(failures[0]?.error.message).toContain("toolpipe registry add io.github.a/tool");
  });

  test("prefers a URL to a program", async () => {
    const both = entry("io.github.a/both", { ...program, ...withUrl("https://a.example/mcp") });
    const [found] = await faked({}, { registries: createRegistry(both) }).searchRegistryForCapability("both");
    expect(found?.config?.connection).toMatchObject({ type: "http", url: "https://a.example/mcp" });
  });

  test.each([
    "http://a.example/mcp",
    "https://127.0.0.1/mcp",
    "https://10.0.0.1/mcp",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/mcp",
    "https://localhost/mcp",
  ])("does not reach into a private network: %s", async (url) => {
    const service = pooled({
      registries: createRegistry(entry("io.github.a/inside", withUrl(url))),
    });
    const { failures } = await service.discoverFromRegistry("inside");
    expect(failures.map(({ error }) => error.code)).toEqual(["SSRF_BLOCKED"]);
  });

  test("survives a registry that cannot be asked, and reports its error", async () => {
    const broken: Registries = {
      search: () => Promise.reject(new GatewayError(CONNECT_FAILED, "The registry cannot be reached.")),
    };
    expect((await catchFailure(faked({}, { registries: broken }).discoverFromRegistry("x"))).code).toBe(
      "CONNECT_FAILED",
    );
  });

  test("reports one of several registries that cannot be asked, and goes on", async () => {
    const half: Registries = {
      async search() {
        const { entries } = await createRegistry(entry("io.a/x", withUrl("https://a.example/"))).search("x");
        return { entries, troubles: [new GatewayError(CONNECT_FAILED, "The other one cannot be reached.")] };
      },
    };
    const { servers, failures } = await faked({}, { registries: half }).discoverFromRegistry("x");
    expect(servers).toHaveLength(1);
    expect(failures.map(({ error }) => error.message)).toEqual(["The other one cannot be reached."]);
  });
});

describe("a capability", () => {
  const tools = [
    listIssues,
    { name: "create_issue", description: "Create an issue", inputSchema: { type: "object" } },
  ];
  const weather = [
    { name: "forecast", description: "Tell the weather of tomorrow", inputSchema: { type: "object" } },
  ];
  const configuredServers = () => [
    remote("github", "https://github.example/mcp"),
    remote("weather", "https://weather.example/mcp"),
  ];
  const offered = ({ name }: { readonly name: string }) => ({ tools: name === "github" ? tools : weather });

  test("is looked for among the user's own servers first", async () => {
    const registry = createRegistry();
    const service = faked(offered, { registries: registry, configuredServers });
    const { from, servers } = await service.findServersForCapability("list_issues");
    expect(from).toBe("configured");
    expect(servers.map(({ config }) => config.name)).toEqual(["github"]);
    expect(servers[0]?.tools[0]?.name).toBe("list_issues");
    expect(registry.asked).toEqual([]);
  });

  test("is looked for in a registry where none of them has it, and nothing found there is registered", async () => {
    const registered: string[] = [];
    const service = faked(offered, {
      registries: createRegistry(entry("io.a/slack", withUrl("https://a.example/mcp"))),
      configuredServers: () => configuredServers().slice(1),
      marketplace: { register: ({ id }) => void registered.push(id) },
    });
    const found = await service.findServersForCapability("slack", { registerInMarketplace: true });
    expect(found.from).toBe("registry");
    expect(found.servers.map(({ config }) => config.name)).toEqual(["io.a/slack"]);
    expect(registered).toEqual(["mcp.weather.forecast"]);
  });

  test("may be the name of a server, or what a tool is about", async () => {
    const service = faked(offered, { configuredServers });
    for (const [query, name] of [
      ["github", "github"],
      ["weather", "weather"],
      ["create an issue", "github"],
      ["the weather of tomorrow", "weather"],
    ] as const) {
      const { servers } = await service.findServersForCapability(query);
      expect([query, servers[0]?.config.name]).toEqual([query, name]);
    }
  });

  test("that no server has is an empty answer", async () => {
    const { servers } = await faked(offered, { configuredServers }).findServersForCapability("slack");
    expect(servers).toEqual([]);
  });

  test("is answered with what is known where a registry cannot be asked either", async () => {
    const registries: Registries = { search: () => Promise.reject(new Error("a secret")) };
    const service = faked(
      () => ({
        onOpen() {
          throw new GatewayError(CONNECT_FAILED, "It cannot be reached.");
        },
      }),
      { registries, configuredServers },
    );
    const { from, servers, failures } = await service.findServersForCapability("slack");
    expect([from, servers]).toEqual(["registry", []]);
    expect(failures.map(({ server }) => server)).toEqual(["github", "weather", "registry"]);
    expect(JSON.stringify(failures)).not.toContain("secret");
  });

  test("is looked for among those that answer, where others do not", async () => {
    const service = faked(
      (config) => ({
        ...offered(config),
        onOpen() {
          if (config.name === "weather") throw new GatewayError(CONNECT_FAILED, "It cannot be reached.");
        },
      }),
      { configuredServers },
    );
    const { servers, failures } = await service.findServersForCapability("list issues");
    expect(servers.map(({ config }) => config.name)).toEqual(["github"]);
    expect(failures.map(({ server }) => server)).toEqual(["weather"]);
  });
});
