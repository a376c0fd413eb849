import { expect } from "vitest";
import { openGateway } from "../../support/open-gateway.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { createService, findService, gatewayOptions, local, registryEntry, remote, world } from "./world.ts";

/** Lines 54 to 98: the parts of the service and its methods. */
export function serviceRows({ row, added, prose }: Specification): void {
  prose(54, 56, 84, 87, 89);

  row("66-67", "The service asks registries by their API.", async () => {
    world.registry.entries = [registryEntry("io.example/parts", world.github.url)];
    const before = world.registry.seen.length;
    const found = await world.service.searchRegistryForCapability("parts");
    expect(found.map(({ name }) => name)).toEqual(["io.example/parts"]);
    const [asked] = world.registry.seen.slice(before);
    expect(asked?.path).toMatch(/^\/v0\.1\/servers\?.*search=parts/);
  });
  row("69-70", "The servers of the user are found in the config.", async () => {
    const { successful, failures, cachedTools } = await world.service.warmCacheForAllConfiguredServers();
    expect([successful, failures, cachedTools]).toEqual([2, [], 4]);
  });
  row(
    "75-76",
    "The cache of the service has what a discovery stored, by the name of its server.",
    async () => {
      await world.service.discoverTools(world.config, { useCache: true });
      expect((await world.service.cache.getTools("github"))?.tools.map(({ name }) => name)).toEqual([
        ...["list_issues", "create_issue", "search_code"],
      ]);
    },
  );
  row(
    "78-79",
    "Requests of a discovery wait for the limit of their server, which the config sets.",
    async () => {
      const rateLimits = { calm: { requestsPerSecond: 50, burstSize: 1 } };
      const gateway = await openGateway(gatewayOptions({ rateLimits }));
      const server = await startServer();
      await findService(gateway).discoverTools(remote("calm", server.url));
      const [first, last] = [server.asked[0]?.at ?? 0, server.asked.at(-1)?.at ?? 0];
      expect(last - first).toBeGreaterThanOrEqual((server.asked.length - 1) * 19);
    },
  );
  row("81-83", "Marketplace and catalog may be given, each without the other.", async () => {
    for (const place of ["marketplace", "catalog"] as const) {
      const taken: string[] = [];
      const service = createService({
        [place]: { register: ({ id }: { id: string }) => void taken.push(id) },
      });
      const [tool] = await service.discoverTools(world.config);
      expect(taken).toEqual([]);
      if (tool) await service.registerCapability(service.toolToManifest(tool, world.config));
      expect(taken).toEqual(["mcp.github.list_issues"]);
    }
  });

  row("91", "discoverTools gives the tools of one server, each with its definition and types.", async () => {
    const tools = await world.service.discoverTools(world.config);
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ["list_issues", "List issues in a GitHub repository"],
      ["create_issue", "Create an issue in a GitHub repository"],
      ["search_code", "Search code in GitHub repositories"],
    ]);
    for (const tool of tools) expect(tool).toMatchObject({ inputSchema: { type: "object" }, inputType: /./ });
  });
  row("92", "discoverResources gives the resources of one server, and caches them too.", async () => {
    const resources = [{ uri: "file:///a", name: "a" }];
    const server = await startServer({ resources });
    const config = remote("resources", server.url);
    const found = { resources, resourceTemplates: [] };
    expect(await world.service.discoverResources(config, { useCache: true })).toEqual(found);
    expect(await world.service.discoverResources(config, { useCache: true })).toEqual(found);
    expect(server.count("resources/list")).toBe(1);
    expect(await world.service.discoverResources(world.config)).toEqual({
      resources: [],
      resourceTemplates: [],
    });
  });
  row("93", "discoverFromRegistry asks the servers that a registry names for a query.", async () => {
    const server = await startServer();
    world.registry.entries = [
      registryEntry("io.example/wanted", server.url),
      registryEntry("io.example/other", world.github.url),
    ];
    const { servers } = await world.service.discoverFromRegistry("wanted");
    expect(servers.map(({ config, tools }) => [config.name, tools.length])).toEqual([
      ["io.example/wanted", 3],
    ]);
  });
  row(
    "94",
    "searchRegistryForCapability connects to no server, and caches where it is told to.",
    async () => {
      const server = await startServer();
      world.registry.entries = [registryEntry("io.example/once", server.url)];
      const count = async (useCache: boolean): Promise<number> => {
        const before = world.registry.seen.length;
        const [found] = await world.service.searchRegistryForCapability("once", useCache);
        expect(found).toMatchObject({ name: "io.example/once", config: { connection: { url: server.url } } });
        return world.registry.seen.length - before;
      };
      expect([await count(true), await count(true), await count(false)]).toEqual([1, 0, 1]);
      expect(server.asked).toEqual([]);
    },
  );
  row("95", "findServersForCapability asks the user's own servers first, and then a registry.", async () => {
    world.registry.entries = [registryEntry("io.example/slack", world.github.url)];
    const before = world.registry.seen.length;
    const own = await world.service.findServersForCapability("list issues");
    expect([own.from, own.servers[0]?.config.name]).toEqual(["configured", "github"]);
    expect(own.servers[0]?.tools[0]?.name).toBe("list_issues");
    expect(world.registry.seen.length).toBe(before);
    const other = await world.service.findServersForCapability("slack");
    expect([other.from, other.servers.map(({ config }) => config.name)]).toEqual([
      "registry",
      ["io.example/slack"],
    ]);
  });
  row(
    "96",
    "registerCapability adds a tool of a configured server to the catalog of the gateway.",
    async () => {
      const options = gatewayOptions({ mcpServers: { github: { url: world.github.url }, local } });
      const gateway = await openGateway(options);
      const service = findService(gateway);
      expect(gateway.catalog.tools("github")).toEqual([]);
      const manifest = service.toolToManifest(
        { name: "list_issues", inputSchema: { type: "object" } },
        world.config,
      );
      expect(await service.registerCapability(manifest)).toBe("registered");
      expect(gateway.catalog.tool("github:list_issues")?.enabled).toBe(true);
    },
  );
  added(
    "96",
    "registerCapability of a server that no config has waits for approval; without a gateway and without parts, it does nothing.",
    "A tool that was only discovered must not be callable before the user has seen it.",
    async () => {
      const server = await startServer();
      const config = remote("stranger", server.url);
      const [tool] = await world.service.discoverTools(config);
      const manifest = world.service.toolToManifest(tool ?? { name: "", inputSchema: {} }, config);
      expect(await world.service.registerCapability(manifest)).toBe("pending");
      expect(world.gateway.catalog.tools("stranger")).toEqual([]);
      const call = await world.gateway.run({ tool: "stranger:list_issues", args: { owner: "a", repo: "b" } });
      expect(call.ok).toBe(false);
      expect(server.count("tools/call")).toBe(0);
      expect(await createService().registerCapability(manifest)).toBe("skipped");

      expect(await runMain(["approve", "stranger"])).toMatchObject({ code: 0, stderr: "" });
      expect(await world.service.registerCapability(manifest)).toBe("registered");
      const run = (name: string) =>
        world.gateway.run({ tool: `stranger:${name}`, args: { owner: "a", repo: "b" } });
      expect(await run("list_issues")).toMatchObject({ ok: true });
      // The user has approved this one tool, and no other of its server.
      expect((await run("create_issue")).ok).toBe(false);
      expect(server.count("tools/call")).toBe(1);
    },
  );
  row("97", "toolToManifest describes a tool as a capability.", async () => {
    const [tool] = await world.service.discoverTools(world.config);
    expect(world.service.toolToManifest(tool ?? { name: "", inputSchema: {} }, world.config)).toEqual({
      id: "mcp.github.list_issues",
      name: "list_issues",
      version: "1.0.0",
      description: "List issues in a GitHub repository",
      inputSchema: tool?.inputSchema,
      provider: { type: "mcp", serverUrl: world.github.url, toolName: "list_issues" },
      domains: ["github", "github.issues"],
      categories: ["crud.read"],
    });
  });
  row("98", "warmCacheForServers asks servers ahead of time: the next discovery asks none.", async () => {
    const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
    const service = findService(gateway);
    const servers = await Promise.all(["a", "b"].map(() => startServer()));
    const configs = servers.map(({ url }, index) => remote(`warm-${index}`, url));
    await service.warmCacheForServers(configs);
    for (const config of configs) {
      expect(await service.discoverTools(config, { useCache: true })).toHaveLength(3);
    }
    expect(servers.map((server) => server.count("tools/list"))).toEqual([1, 1]);
  });
}
