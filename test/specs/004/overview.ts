import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { MCPDiscoveryService } from "toolpipe/anygpt";
import { expect } from "vitest";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { createService, findService, gatewayOptions, remote, traceSteps, world } from "./world.ts";

/** Lines 1 to 50: overview and architecture. */
export function overviewRows({ row, prose }: Specification): void {
  prose("1-6", 10, 24, 27, 29, "35-39", "42-46", 49);

  row("12, 28, 59", "One service, MCPDiscoveryService, has all methods of the discovery.", async () => {
    const service = new MCPDiscoveryService({ gateway: world.gateway });
    const names = [
      ...["discoverTools", "discoverResources", "discoverFromRegistry", "searchRegistryForCapability"],
      ...["findServersForCapability", "registerCapability", "toolToManifest", "warmCacheForServers"],
      "warmCacheForAllConfiguredServers",
    ] as const;
    expect(names.map((name) => typeof service[name])).toEqual(names.map(() => "function"));
    const tools = await service.discoverTools(world.config);
    expect(tools.map(({ name }) => name)).toEqual(["list_issues", "create_issue", "search_code"]);
    const tool = tools[0] ?? { name: "", inputSchema: {} };
    expect(await service.toolToManifest(tool, world.config)).toMatchObject({ id: "mcp.github.list_issues" });
  });
  row("14", "Tools and resources of a server are discovered, over HTTP and over stdio.", async () => {
    const resources = [{ uri: "file:///readme", name: "readme" }];
    const server = await startServer({ resources });
    const found = await world.service.discoverServer(remote("with-resources", server.url));
    expect(found.tools).toHaveLength(3);
    expect(found.resources).toEqual(resources);
    const own = world.gateway.services.servers?.status("local")?.config;
    const tools = await world.service.discoverTools(own ?? world.config);
    expect(tools.map(({ name }) => name)).toEqual(["forecast"]);
  });
  row("15", "A discovered tool has the type of RTFS of its input.", async () => {
    const [tool] = await world.service.discoverTools(world.config);
    expect(tool?.inputType).toContain("[:owner :string]");
  });
  row("16, 217", "A discovered tool has domains and categories, which no server sends.", async () => {
    const tools = await world.service.discoverTools(world.config);
    expect(tools.map(({ domains, categories }) => [domains, categories])).toEqual([
      [["github", "github.issues"], ["crud.read"]],
      [["github", "github.issues"], ["crud.create"]],
      [
        ["github", "github.code"],
        ["crud.read", "search"],
      ],
    ]);
  });
  row(
    "17, 33",
    "Cached tools outlive their gateway, and are asked for again when they are too old.",
    async () => {
      const cacheFolder = await temporaryFolder();
      const server = await startServer();
      const config = remote("kept", server.url);
      for (const _ of ["first", "second"]) {
        const gateway = await openGateway(gatewayOptions({ cacheFolder }));
        expect(await findService(gateway).discoverTools(config, { useCache: true })).toHaveLength(3);
      }
      expect(server.count("tools/list")).toBe(1);
      const before = process.env["CCOS_MCP_CACHE_TTL"];
      process.env["CCOS_MCP_CACHE_TTL"] = "0";
      try {
        const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
        const options = { useCache: true };
        for (const _ of ["first", "second"]) await findService(gateway).discoverTools(config, options);
      } finally {
        if (before === undefined) delete process.env["CCOS_MCP_CACHE_TTL"];
        else process.env["CCOS_MCP_CACHE_TTL"] = before;
      }
      expect(server.count("tools/list")).toBe(3);
    },
  );
  row("18", "Requests to a server are limited, and a failed discovery is retried.", async () => {
    let failures = 1;
    const server = await startServer({
      gate: ({ method }) => (method === "tools/list" && failures-- > 0 ? 503 : undefined),
    });
    const start = performance.now();
    const tools = await world.service.discoverTools(remote("limited", server.url), {
      rateLimit: { requestsPerSecond: 50, burstSize: 1 },
      retryPolicy: { initialDelayMs: 1 },
    });
    expect(tools).toHaveLength(3);
    expect(server.count("tools/list")).toBe(2);
    const last = server.asked.at(-1)?.at ?? 0;
    // One request every 20 ms; timers may be a millisecond early.
    expect(last - start).toBeGreaterThanOrEqual((server.asked.length - 1) * 19);
  });
  row("19", "Several servers are asked at the same time, within a limit that can be chosen.", async () => {
    let now = 0;
    let most = 0;
    const gate = async ({ method }: { method: string }): Promise<undefined> => {
      if (method !== "tools/list") return;
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 30));
      now--;
    };
    const servers = await Promise.all(Array.from({ length: 6 }, () => startServer({ gate })));
    const configs = servers.map(({ url }, index) => remote(`parallel-${index}`, url));
    await createService().warmCacheForServers(configs, { maxParallelDiscoveries: 3 });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
  });
  row("20", "A discovery registers its tools in marketplace and catalog, where it is told to.", async () => {
    const registered: string[] = [];
    const into = (place: string) => ({
      register: ({ id }: { readonly id: string }) => void registered.push(`${place} ${id}`),
    });
    const service = createService({ marketplace: into("marketplace"), catalog: into("catalog") });
    await service.discoverTools(world.config);
    expect(registered).toEqual([]);
    await service.discoverTools(world.config, { registerInMarketplace: true });
    expect(registered).toEqual(
      ["list_issues", "create_issue", "search_code"].flatMap((name) => [
        `marketplace mcp.github.${name}`,
        `catalog mcp.github.${name}`,
      ]),
    );
  });

  row("30, 60-61", "Connections over HTTP are shared by the requests of a discovery.", async () => {
    const server = await startServer();
    let connections = 0;
    server.server.on("connection", () => connections++);
    for (const _ of ["first", "second"]) await world.service.discoverTools(remote("pool", server.url));
    expect(server.asked.length).toBeGreaterThan(6);
    expect(connections).toBeLessThan(server.asked.length);
  });
  row("31, 63-64", "Each discovery has a session of its own, which ends with it.", async () => {
    const server = await startServer();
    const open: number[] = [];
    const config = remote("sessions", server.url);
    for (const _ of ["first", "second"]) {
      await world.service.discoverTools(config);
      open.push(server.live.size);
    }
    expect(open).toEqual([0, 0]);
    const sessions = server.asked.map(({ headers }) => headers["mcp-session-id"]);
    expect(new Set(sessions.filter((id) => id !== undefined))).toEqual(new Set(["session-1", "session-2"]));
  });
  row("32", "Each server has a bucket of tokens of its own.", async () => {
    const sleep = (): Promise<void> => Promise.reject(new Error("It waits."));
    const service = createService({ waiting: { sleep } });
    const [first, second] = [await startServer(), await startServer()];
    const options = { rateLimit: { requestsPerSecond: 0.001, burstSize: 7 } };
    await service.discoverTools(remote("first", first.url), options);
    await expect(service.discoverTools(remote("first", first.url), options)).rejects.toThrow();
    expect(first.asked.length).toBeLessThanOrEqual(7);
    expect(await service.discoverTools(remote("second", second.url), options)).toHaveLength(3);
  });
  row("33", "The cache is in memory and in files.", async () => {
    const cacheFolder = await temporaryFolder();
    const gateway = await openGateway(gatewayOptions({ cacheFolder }));
    await findService(gateway).discoverTools(world.config, { useCache: true });
    const other = await openGateway(gatewayOptions({ cacheFolder }));
    await rm(cacheFolder, { recursive: true });
    // Without the files, the first gateway has them in memory, and the other one has nothing.
    expect((await findService(gateway).cache.getTools("github"))?.tools).toHaveLength(3);
    expect(await findService(other).cache.getTools("github")).toBeUndefined();
  });
  row("34, 72-73", "The introspector converts schemas, and infers those of outputs.", async () => {
    const [tool] = await world.service.discoverTools(world.config, {
      introspectOutputSchemas: true,
      lazyOutputSchemas: false,
    });
    expect(tool?.inputType).toMatch(/^\[:map/);
    expect(tool?.outputType).toMatch(/^\[:vector \[:map/);
  });
  row(
    "40-41",
    "Marketplace, catalog and export are optional: without them their step does nothing.",
    async () => {
      const none = traceSteps();
      const config = remote("optional", world.github.url);
      const { warnings } = await createService().discoverServer(config, {
        onStep: none.onStep,
        registerInMarketplace: true,
      });
      expect([none.outcomes()["registration"], warnings]).toEqual(["skipped", []]);
      const registered: string[] = [];
      const register = ({ id }: { readonly id: string }): void => void registered.push(id);
      const folder = await temporaryFolder();
      const parts = { marketplace: { register }, catalog: { register } };
      const all = traceSteps();
      await createService(parts).discoverTools(config, { onStep: all.onStep, registerInMarketplace: true });
      expect([all.outcomes()["registration"], registered.length]).toEqual(["done", 6]);
      await world.service.discoverTools(world.config, { exportToRtfs: true, exportDirectory: folder });
      expect(await readFile(join(folder, "github", "list_issues.rtfs"), "utf8")).toMatch(/^\(capability /);
    },
  );
  row("47-48", "Resolution, marketplace and introspection use the same service.", async () => {
    const { RuntimeMcpDiscovery, MCPDiscoveryProvider } = await import("toolpipe/anygpt");
    const service = new MCPDiscoveryService({ gateway: world.gateway });
    const runtime = RuntimeMcpDiscovery.withDiscoveryService(service);
    const provider = new MCPDiscoveryProvider(world.config, service);
    expect([runtime.discoveryService, provider.discoveryService]).toEqual([service, service]);
    expect((await runtime.resolve("search code")).map(({ id }) => id)).toContain("mcp.github.search_code");
    expect((await provider.discover()).map(({ id }) => id)).toContain("mcp.github.search_code");
  });
}
