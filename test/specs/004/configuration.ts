import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { errorKinds, type Plugin } from "../../../core/mod.ts";
import type { UpstreamConnectOptions } from "../../../core/services/servers.ts";
import { createCache } from "../../../plugins/cache/mod.ts";
import { parseDiscoveryOptions } from "../../../plugins/discovery/options.ts";
import { createToolCache, toolCacheTtl } from "../../../plugins/discovery/tool-cache.ts";
import { catchFailure } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { type Gate, githubTools, startServer } from "./server.ts";
import {
  createService,
  findService,
  gatewayOptions,
  hurriedService,
  remote,
  traceSteps,
  world,
} from "./world.ts";

/** Sets variables of the environment until the row is over. */
function setVariables(variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  onTestFinished(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}

const args = { owner: "a", repo: "b" };

/** Lines 497 to 522: variables of the environment, and options. */
export function configurationRows({ row, differs, prose }: Specification): void {
  prose(497, 499, 501, 508, 511, 522);

  row(
    "503",
    "MCP_AUTH_TOKEN goes to a server that asks for a token, in a discovery and in a call.",
    async () => {
      setVariables({ MCP_AUTH_TOKEN: "generic-token" });
      const gate: Gate = ({ headers }) =>
        headers.authorization === "Bearer generic-token" ? undefined : 401;
      const server = await startServer({ gate });
      const options = gatewayOptions({ mcpServers: { locked: { url: server.url } } });
      const gateway = await openGateway(options);
      const config = gateway.services.servers?.status("locked")?.config ?? world.config;
      expect(await findService(gateway).discoverTools(config)).toHaveLength(3);
      expect(await gateway.run({ tool: "locked:list_issues", args })).toMatchObject({ ok: true });
      const file = { mcpServers: { locked: { url: server.url } } };
      await writeFiles(process.cwd(), { "locked.config.json": JSON.stringify(file) });
      for (const line of [["warm"], ["execute", "locked", "list_issues", `--args=${JSON.stringify(args)}`]]) {
        expect(await runMain([...line, "--config=locked.config.json"])).toMatchObject({ code: 0 });
      }
    },
  );
  row("504", "GITHUB_MCP_TOKEN goes to GitHub alone, in a discovery and in a call.", async () => {
    setVariables({ MCP_AUTH_TOKEN: "generic-token", GITHUB_MCP_TOKEN: "github-token" });
    const tokens: string[] = [];
    const result = { content: [{ type: "text", text: "done" }] };
    // A driver in place of the network, which notes the token that it is given.
    const driver: Plugin = {
      name: "noting-driver",
      setup: (gateway) =>
        gateway.register("upstream", "noting", {
          async connect({ name }: { readonly name: string }, { spareToken }: UpstreamConnectOptions) {
            tokens.push(`${name} ${spareToken}`);
            const tools = githubTools.map((tool) => ({ inputSchema: { type: "object" }, ...tool }));
            return {
              info: {},
              list: async () => ({ tools, rejected: [], resources: [], resourceTemplates: [], prompts: [] }),
              call: async () => result,
              close: async () => {},
            };
          },
        }),
    };
    const mcpServers = {
      github: { url: "https://api.githubcopilot.com/mcp/", driver: "noting" },
      other: { url: "https://api.githubcopilot.com.example/mcp/", driver: "noting" },
    };
    const gateway = await openGateway(gatewayOptions({ mcpServers, plugins: [driver] }));
    expect(await findService(gateway).warmCacheForAllConfiguredServers()).toMatchObject({ successful: 2 });
    for (const name of ["github", "other"]) {
      expect(await gateway.run({ tool: `${name}:list_issues`, args })).toMatchObject({ ok: true });
    }
    expect(tokens.length).toBeGreaterThanOrEqual(4);
    expect(new Set(tokens)).toEqual(new Set(["github github-token", "other generic-token"]));
  });
  row("505", "CCOS_MCP_CACHE_DIR is the folder of the cache.", async () => {
    const folder = await temporaryFolder();
    setVariables({ CCOS_MCP_CACHE_DIR: folder });
    const gateway = await openGateway(gatewayOptions());
    await findService(gateway).discoverTools(world.config, { useCache: true });
    expect((await readdir(folder)).some((name) => name.includes("tools_github"))).toBe(true);
  });
  differs(
    "505",
    "Without the variable, the cache is in .ccos/mcp_cache of the current folder.",
    "It is in the user's cache folder: what is cached in a project's folder, its author could have written.",
    async () => {
      const gateway = await openGateway(gatewayOptions());
      await findService(gateway).discoverTools(world.config, { useCache: true });
      expect(await readdir(process.cwd())).not.toContain(".ccos");
      const files = await readdir(join(world.folder, "toolpipe"), { recursive: true });
      expect(files.some((name) => name.includes("tools_github"))).toBe(true);
    },
  );
  row("506", "CCOS_MCP_CACHE_TTL is how long tools are cached, in seconds; a day by default.", async () => {
    expect(toolCacheTtl({})).toBe(86_400_000);
    setVariables({ CCOS_MCP_CACHE_TTL: "60" });
    let now = 0;
    const cache = createToolCache(createCache({ now: () => now, onTrouble: () => {} }));
    await cache.storeTools("github", { tools: [], resources: [], resourceTemplates: [] });
    now = 59_999;
    expect(await cache.getTools("github")).toBeDefined();
    now = 60_000;
    expect(await cache.getTools("github")).toBeUndefined();
    process.env["CCOS_MCP_CACHE_TTL"] = "a day";
    expect(await catchFailure(openGateway(gatewayOptions()))).toMatchObject({ code: "CONFIG_INVALID" });
  });

  row("512, 521", "By default no tool is called for its output.", async () => {
    const server = await startServer();
    const gateway = await openGateway(gatewayOptions({ mcpServers: { quiet: { url: server.url } } }));
    const config = gateway.services.servers?.status("quiet")?.config ?? world.config;
    const tools = await findService(gateway).discoverTools(config);
    expect(tools.map(({ outputSchema }) => outputSchema)).toEqual([undefined, undefined, undefined]);
    expect(server.count("tools/call")).toBe(0);
    expect(parseDiscoveryOptions()).toMatchObject({
      introspectOutputSchemas: false,
      lazyOutputSchemas: true,
    });
  });
  row("513", "By default the cache is neither read nor written.", async () => {
    const cacheFolder = await temporaryFolder();
    const gateway = await openGateway(gatewayOptions({ cacheFolder }));
    const server = await startServer();
    const config = remote("uncached", server.url);
    for (const _ of ["first", "second"]) await findService(gateway).discoverTools(config);
    expect(server.count("tools/list")).toBe(2);
    expect(await findService(gateway).cache.getTools("uncached")).toBeUndefined();
    expect(await readdir(cacheFolder).catch(() => [])).toEqual([]);
  });
  row("514", "By default nothing is registered, and with the option every tool found.", async () => {
    const registered: string[] = [];
    const service = createService({ catalog: { register: ({ name }) => void registered.push(name) } });
    const config = remote("unregistered", world.github.url);
    await service.discoverTools(config);
    expect(registered).toEqual([]);
    await service.discoverTools(config, { registerInMarketplace: true });
    expect(registered).toEqual(githubTools.map(({ name }) => name));
    // In a gateway, tools of a server that its config lacks wait for approval.
    const traced = traceSteps();
    await world.service.discoverTools(config, { registerInMarketplace: true, onStep: traced.onStep });
    expect(traced.outcomes()).toMatchObject({ registration: "pending" });
    expect(world.gateway.catalog.tools("unregistered")).toEqual([]);
  });
  row(
    "515-516",
    "By default nothing is written; with the option, to capabilities/servers/pending.",
    async () => {
      const config = remote("written", world.github.url);
      const folder = join(process.cwd(), "capabilities", "servers", "pending", "written");
      await world.service.discoverTools(config);
      await expect(readdir(folder)).rejects.toThrow();
      await world.service.discoverTools(config, { exportToRtfs: true });
      expect(await readdir(folder)).toHaveLength(3);
    },
  );
  row(
    "517",
    "Headers of the options replace those of the definition; by default there are none.",
    async () => {
      const server = await startServer();
      const headers = { Authorization: "Bearer own", "X-Tenant": "mine" };
      const config = remote("headers", server.url, { connection: { headers } });
      const seen = (): unknown =>
        new Set(
          server.asked
            .splice(0)
            .map(({ headers: { authorization, ...rest } }) => [authorization, rest["x-tenant"]].join(" ")),
        );
      await world.service.discoverTools(config);
      expect(seen()).toEqual(new Set(["Bearer own mine"]));
      await world.service.discoverTools(config, { authHeaders: { Authorization: "Bearer given" } });
      expect(seen()).toEqual(new Set(["Bearer given mine"]));
    },
  );
  row("518", "Without a retry policy, the usual one holds.", async () => {
    const server = await startServer({ gate: ({ method }) => (method === "tools/list" ? 503 : undefined) });
    const { service, waits } = hurriedService();
    const rateLimit = { requestsPerSecond: 1_000_000, burstSize: 1_000 };
    await catchFailure(service.discoverTools(remote("usual", server.url), { rateLimit }));
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });
  row(
    "519, 558",
    "Without a rate limit, the usual one holds; options that make no sense are refused.",
    async () => {
      expect(parseDiscoveryOptions().rateLimit).toEqual({ requestsPerSecond: 10, burstSize: 20 });
      const server = await startServer();
      for (const options of [
        { rateLimit: { burstSize: 0 } },
        { maxParallelDiscoveries: 0 },
        { nonsense: 1 },
      ]) {
        const failure = await catchFailure(world.service.discoverTools(remote("no", server.url), options));
        expect(failure.code).toBe(errorKinds.CONFIG_INVALID.code);
      }
      expect(server.asked).toEqual([]);
    },
  );
  row("520", "By default five servers are asked at the same time.", async () => {
    let now = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    const server = await startServer({
      async gate({ method }) {
        if (method !== "tools/list") return;
        most = Math.max(most, ++now);
        // The first five wait for each other.
        if (server.count("tools/list") < 5) await new Promise<void>((resolve) => waiting.push(resolve));
        for (const go of waiting) go();
        now--;
      },
    });
    const configs = Array.from({ length: 8 }, (_, index) => remote(`five-${index}`, server.url));
    expect(await createService().warmCacheForServers(configs)).toMatchObject({ successful: 8 });
    expect(most).toBe(5);
  });
}
