import { expect } from "vitest";
import { openGateway } from "../../support/open-gateway.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import type { Specification } from "../specification.ts";
import { githubTools, startServer } from "./server.ts";
import { findService, gatewayOptions, local, remote, world } from "./world.ts";

/** Lines 366 to 388: warming the cache. */
export function warmingRows({ row, added, prose }: Specification): void {
  prose(366, 368, 383);

  row(
    "371-378",
    "Servers are warmed: their tools are cached, and none of them is called for its output.",
    async () => {
      const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
      const service = findService(gateway);
      const servers = await Promise.all([1, 2, 3].map(() => startServer()));
      const configs = servers.map(({ url }, index) => remote(`three-${index}`, url));
      const options = { useCache: true, lazyOutputSchemas: true, introspectOutputSchemas: true };
      expect(await service.warmCacheForServers(configs, options)).toMatchObject({ successful: 3 });
      expect(servers.map((server) => server.count("tools/call"))).toEqual([0, 0, 0]);
      for (const { name } of configs) expect((await service.cache.getTools(name))?.tools).toHaveLength(3);
    },
  );
  row(
    "379-380",
    "The result counts the servers that were warmed and that failed, and the tools.",
    async () => {
      const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
      const broken = await startServer({ gate: () => 500 });
      const config = remote("counted", world.github.url);
      const stats = await findService(gateway).warmCacheForServers([config, remote("broken", broken.url)]);
      const { successful, failed, cachedTools } = stats;
      expect({ successful, failed, cachedTools }).toEqual({ successful: 1, failed: 1, cachedTools: 3 });
      expect(stats.failures.map(({ server }) => server)).toEqual(["broken"]);
    },
  );
  row("386-387", "All servers of the config are warmed at the start, where the config says so.", async () => {
    const cacheFolder = await temporaryFolder();
    const server = await startServer();
    const mcpServers = { github: { url: server.url }, off: { url: server.url, disabled: true } };
    await openGateway(gatewayOptions({ mcpServers, cacheFolder }));
    const gateway = await openGateway(gatewayOptions({ mcpServers, cacheFolder, warm: true }));
    const { cache } = findService(gateway);
    await until(async () => (await cache.getTools("github")) !== undefined, 20_000);
    expect((await cache.getTools("github"))?.tools).toHaveLength(githubTools.length);
    expect(server.count("tools/list")).toBe(1);
    expect(await findService(gateway).warmCacheForAllConfiguredServers()).toMatchObject({
      successful: 1,
      alreadyWarm: 1,
    });
  });
  added(
    "379, 386",
    "A command warms all servers of the config, and prints the counts.",
    "Warming ahead of time is a task of people too.",
    async () => {
      const config = { mcpServers: { github: { url: world.github.url }, local } };
      await writeFiles(process.cwd(), { "warm.config.json": JSON.stringify(config) });
      const { code, stdout } = await runMain(["warm", "--config=warm.config.json"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nWarmed: 2 successful, 0 failed, 4 tools cached in [\d.]+ s\n$/);
    },
  );
}
