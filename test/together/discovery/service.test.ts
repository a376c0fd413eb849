import { readdir } from "node:fs/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createGateway, GatewayError } from "../../../core/mod.ts";
import { cache } from "../../../plugins/cache/mod.ts";
import { inferTags } from "../../../plugins/discovery/manifest.ts";
import { discoveryProvider, runtimeDiscovery, serverDiscovery } from "../../../plugins/discovery/mod.ts";
import { parseDiscoveryOptions } from "../../../plugins/discovery/options.ts";
import { types } from "../../../plugins/types/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { faked, listIssues, memoryCache, remote } from "../../plugins/discovery/_fixtures.ts";
import { catchFailure } from "../../support/failure.ts";
import { faulty } from "../../support/place.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import { pooled } from "./_pool.ts";

afterEach(() => vi.unstubAllEnvs());

const github = remote("github", "https://user:hunter2@api.github.com/mcp?key=hunter2#part");

describe("a tool as a capability", () => {
  test("has the form of the specification", () => {
    const service = pooled({ inferTags });
    expect(service.toolToManifest(listIssues, github)).toEqual({
      id: "mcp.github.list_issues",
      name: "list_issues",
      version: "1.0.0",
      description: "List issues in a GitHub repository",
      inputSchema: listIssues.inputSchema,
      provider: { type: "mcp", serverUrl: "https://api.github.com/mcp", toolName: "list_issues" },
      domains: ["github", "github.issues"],
      categories: ["crud.read"],
    });
  });

  test("keeps what its discovery made out", async () => {
    const service = faked({});
    const [tool] = await service.discoverTools(github);
    const outputSchema = { type: "object" };
    expect(service.toolToManifest({ ...(tool ?? listIssues), outputSchema }, github)).toMatchObject({
      outputSchema,
      domains: ["github"],
      categories: ["crud.read"],
    });
  });

  test("tells of a program without its arguments and variables", () => {
    const manifest = pooled({ inferTags }).toolToManifest(listIssues, {
      ...github,
      connection: { type: "stdio", command: "npx", args: ["--token", "hunter2"], env: { KEY: "hunter2" } },
    });
    expect(manifest.provider).toEqual({ type: "mcp", command: ["npx"], toolName: "list_issues" });
    expect(JSON.stringify(manifest)).not.toContain("hunter2");
  });

  test("has an id of its own for any name of a tool", () => {
    const service = pooled({ inferTags });
    const names = ["a.b", "a_b", "a b", "a/b", "../a", ") (evil", "ä", ""];
    const ids = names.map(
      (name) => service.toolToManifest({ ...listIssues, name }, remote("x.y", "https://x/")).id,
    );
    expect(new Set(ids).size).toBe(names.length);
    for (const id of ids) expect(id).toMatch(/^mcp\.[\w-]+\.[\w-]+$/);
  });

  test("is registered in the marketplace and the catalog, or wherever there is one", async () => {
    const taken: string[] = [];
    const register = (place: string) => ({
      register: ({ id }: { id: string }) => void taken.push(`${place} ${id}`),
    });
    const both = faked({}, { marketplace: register("marketplace"), catalog: register("catalog") });
    const manifest = both.toolToManifest(listIssues, github);
    await both.registerCapability(manifest);
    await faked({}, { catalog: register("only") }).registerCapability(manifest);
    await faked({}).registerCapability(manifest);
    expect(taken).toEqual([
      "marketplace mcp.github.list_issues",
      "catalog mcp.github.list_issues",
      "only mcp.github.list_issues",
    ]);
  });
});

describe("options", () => {
  test("have the defaults of the specification", () => {
    expect(parseDiscoveryOptions()).toEqual({
      introspectOutputSchemas: false,
      useCache: false,
      refreshCache: false,
      registerInMarketplace: false,
      exportToRtfs: false,
      allMatches: false,
      retryPolicy: {
        maxRetries: 3,
        initialDelayMs: 1_000,
        maxDelayMs: 30_000,
        backoffMultiplier: 2,
        jitterFactor: 0.1,
      },
      rateLimit: { requestsPerSecond: 10, burstSize: 20 },
      maxParallelDiscoveries: 5,
      lazyOutputSchemas: true,
    });
  });

  test.each<[object, string]>([
    [{ maxParallelDiscoveries: 0 }, "maxParallelDiscoveries: expected a whole number, 1 or more"],
    [{ retryPolicy: { maxRetries: -1 } }, "retryPolicy.maxRetries: expected a whole number, 0 or more"],
    [{ rateLimit: { burstSize: 0 } }, "rateLimit.burstSize: expected a whole number, 1 or more"],
    [{ usecache: true }, "usecache: there is no such option"],
  ])("that are wrong are refused: %j", async (options, message) => {
    const error = await catchFailure(faked({}).discoverTools(github, options));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain(message);
  });
});

describe("warming", () => {
  const servers = ["a", "b", "c"].map((name) => remote(name, `https://${name}.example/mcp`));

  test("makes the next discovery ask no server, and counts its work", async () => {
    const service = faked(
      { tools: [listIssues, { ...listIssues, name: "other" }] },
      { cache: memoryCache() },
    );
    const cold = await service.warmCacheForServers(servers);
    expect(cold).toMatchObject({ successful: 3, failed: 0, cachedTools: 6, alreadyWarm: 0, failures: [] });
    expect(cold.durationMs).toBeGreaterThanOrEqual(0);
    const warm = await service.warmCacheForServers(servers, { useCache: false });
    expect(warm).toMatchObject({ successful: 3, cachedTools: 6, alreadyWarm: 3 });
    for (const server of servers) await service.discoverTools(server, { useCache: true });
    expect(service.sessions.opened).toBe(3);
  });

  test("knows all servers of the user, and none where there are none", async () => {
    const service = faked({}, { configuredServers: async () => servers });
    expect(await service.warmCacheForAllConfiguredServers()).toMatchObject({ successful: 3 });
    expect(await faked({}).warmCacheForAllConfiguredServers()).toMatchObject({ successful: 0, failed: 0 });
  });

  test("ends with its caller", async () => {
    const abort = new AbortController();
    const service = faked({ onOpen: () => abort.abort() }, { cache: memoryCache() });
    const statistics = await service.warmCacheForServers(servers, {
      signal: abort.signal,
      maxParallelDiscoveries: 1,
    });
    expect(statistics.failures.map(({ error }) => error.code)).toEqual(["CANCELLED", "CANCELLED"]);
    expect(service.sessions.opened).toBe(service.sessions.closed);
  });
});

describe("callers", () => {
  test("resolve a capability at run time, and register what the user's own servers have", async () => {
    const registered: string[] = [];
    const marketplace = { register: ({ id }: { id: string }) => void registered.push(id) };
    const service = faked({}, { configuredServers: () => [github] });
    const resolved = await runtimeDiscovery({ service, marketplace }).resolve("list_issues");
    expect(resolved.map(({ id }) => id)).toEqual(["mcp.github.list_issues"]);
    expect(registered).toEqual(["mcp.github.list_issues"]);
    expect(await runtimeDiscovery({ service }).resolve("nothing of the sort")).toEqual([]);
  });

  test("provide the capabilities of one server", async () => {
    const provider = discoveryProvider(github, faked({}));
    expect(provider.name).toBe("github");
    expect((await provider.discover()).map(({ id }) => id)).toEqual(["mcp.github.list_issues"]);
  });
});

test("passes tools to the exporter with the target folder", async () => {
  const exported: unknown[] = [];
  const service = faked(
    {},
    {
      async exportAll(config, manifests, directory) {
        exported.push([config.name, manifests.map(({ id }) => id), directory]);
      },
    },
  );
  await service.discoverTools(github, { exportToRtfs: true, exportDirectory: "out" });
  expect(exported).toEqual([["github", ["mcp.github.list_issues"], "out"]]);
});

test("warns where no exporter exists, and still finds the tools", async () => {
  const { tools, warnings } = await faked({}).discoverServer(github, { exportToRtfs: true });
  expect(tools).toHaveLength(1);
  expect(warnings.map(({ message }) => message)).toEqual([
    "Tools cannot be exported: the discovery service has no exporter.",
  ]);
});

test("a limit of a single server that makes no sense is refused when the service is made", async () => {
  const make = (): unknown => pooled({ inferTags, rateLimits: { a: { burstSize: 0 } } });
  const error = await catchFailure(Promise.resolve().then(make));
  expect(error.message).toContain("rateLimit.burstSize: expected a whole number, 1 or more");
});

test("where the cache is switched off, nothing is kept in files", async () => {
  const folder = await temporaryFolder();
  vi.stubEnv("CCOS_MCP_CACHE_DIR", folder);
  const gateway = await createGateway({ plugins: [cache({ enabled: false }), serverDiscovery()] });
  const found = { tools: [], resources: [], resourceTemplates: [] };
  await gateway.services.serverDiscovery?.cache.storeTools(github, found);
  expect(await gateway.services.serverDiscovery?.cache.getTools(github)).toEqual(found);
  await gateway.close();
  expect(await readdir(folder)).toEqual([]);
});

test("the plugin finds the tools of the gateway's servers, and caches them in the folder of the environment", async () => {
  const folder = await temporaryFolder();
  vi.stubEnv("CCOS_MCP_CACHE_DIR", folder);
  const errors: GatewayError[] = [];
  const open = async (warm: boolean) =>
    createGateway({
      preset: passthrough,
      plugins: [
        types(),
        serverDiscovery({ warm }),
        { name: "hear", setup: () => ({ error: (error) => void errors.push(error) }) },
      ],
      options: {
        sources: { mcpServers: { good: faulty(), off: { ...faulty(), disabled: true } } },
        upstreams: { discover: "none" },
      },
    });
  const gateway = await open(true);
  try {
    const service = gateway.services.serverDiscovery;
    const config = gateway.services.servers?.status("good")?.config;
    if (!service || !config) throw new Error("They are not there.");
    await until(async () => (await service.cache.getTools(config)) !== undefined, 20_000);
    const tools = await service.discoverTools(config, { useCache: true });
    expect(tools.find(({ name }) => name === "echo")?.inputType).toContain(":text");
    expect(await service.warmCacheForAllConfiguredServers()).toMatchObject({ successful: 1, alreadyWarm: 1 });
  } finally {
    await gateway.close();
  }
  expect(errors).toEqual([]);
  const next = await open(false);
  expect(await next.services.serverDiscovery?.warmCacheForAllConfiguredServers()).toMatchObject({
    alreadyWarm: 1,
  });
  await next.close();
});

test("a failure of the service itself is one of ours", async () => {
  const service = faked({
    onOpen() {
      throw new TypeError("a bug");
    },
  });
  const error = await catchFailure(service.discoverTools(github));
  expect(GatewayError.is(error) && error.message).not.toContain("a bug");
});
