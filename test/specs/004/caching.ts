import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MCPCache } from "toolpipe/anygpt";
import { beforeAll, expect } from "vitest";
import { createCache, fileStorage } from "../../../plugins/cache/mod.ts";
import type { DiscoveredTool } from "../../../plugins/discovery/mod.ts";
import { createToolCache } from "../../../plugins/discovery/tool-cache.ts";
import { createRegistryClient } from "../../../plugins/registries/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { findService, gatewayOptions, registryEntry, remote, world } from "./world.ts";

const HOUR_MS = 3_600_000;

/** A cache in a folder, or only in memory, on a clock that is set by hand. */
function timedCache(folder?: string) {
  const clock = { now: 1_000_000 };
  const storage = folder === undefined ? {} : { storage: fileStorage(folder) };
  const open = () =>
    createCache({
      ...storage,
      now: () => clock.now,
      onTrouble: (cause) => {
        throw cause;
      },
    });
  return { clock, open };
}

/** Reads the keys of all entries in a folder. */
async function readKeys(folder: string): Promise<readonly string[]> {
  const files = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")),
  );
  return files.map((text) => String(/"key":"([^"]*)"/.exec(text)?.[1]));
}

/** Lines 264 to 300: the cache. */
export function cachingRows({ row, differs, prose }: Specification): void {
  prose(264, 266, 276, 279, 282, 287, 290, 293, 296, 299);

  const stage = {} as { tools: readonly DiscoveredTool[] };
  beforeAll(async () => {
    Object.assign(stage, { tools: await world.service.discoverTools(world.config) });
  });

  row("269-271", "Tools are cached in memory.", async () => {
    const cache = new MCPCache();
    await cache.storeTools("github", stage.tools);
    expect(await cache.getTools("github")).toEqual(stage.tools);
    expect(await new MCPCache().getTools("github")).toBeUndefined();
  });
  row("273-274, 557", "Tools are cached in files of a folder, which another process reads.", async () => {
    const cacheDir = await temporaryFolder();
    await new MCPCache({ cacheDir }).storeTools("github", stage.tools);
    expect(await readdir(cacheDir)).toHaveLength(1);
    expect(await new MCPCache({ cacheDir }).getTools("github")).toEqual(stage.tools);
  });
  row("277", "Tools are cached for 24 hours, in memory and in files.", async () => {
    for (const folder of [undefined, await temporaryFolder()]) {
      const { clock, open } = timedCache(folder);
      const kept = open();
      await createToolCache(kept).storeTools("github", {
        tools: stage.tools,
        resources: [],
        resourceTemplates: [],
      });
      const read = async () =>
        (await createToolCache(folder === undefined ? kept : open()).getTools("github"))?.tools.length;
      clock.now += 24 * HOUR_MS - 1;
      expect(await read()).toBe(3);
      clock.now += 1;
      expect(await read()).toBeUndefined();
    }
  });
  row("278", "Results of a registry are cached for an hour.", async () => {
    const { clock, open } = timedCache();
    const client = createRegistryClient({ registries: [world.registry.origin] }, { cache: open() });
    world.registry.entries = [registryEntry("io.example/hour", world.github.url)];
    const count = async (): Promise<number> => {
      const before = world.registry.seen.length;
      expect((await client.search("hour")).entries).toHaveLength(1);
      return world.registry.seen.length - before;
    };
    const counts = [await count(), await count()];
    clock.now += HOUR_MS - 1;
    counts.push(await count());
    clock.now += 1;
    counts.push(await count());
    expect(counts).toEqual([1, 0, 0, 1]);
  });

  row(
    "284",
    "The key of a server's tools is tools_ and its name; signs that no file may have are replaced.",
    async () => {
      const cacheFolder = await temporaryFolder();
      const gateway = await openGateway(gatewayOptions({ cacheFolder }));
      const { cache } = findService(gateway);
      const found = { tools: stage.tools, resources: [], resourceTemplates: [] };
      for (const name of ["github", "../a b"]) await cache.storeTools(name, found);
      expect(await gateway.services.cache?.get("tools_github")).toMatchObject({ found });
      expect(await cache.getTools("../a b")).toEqual(found);
      const keys = await readKeys(cacheFolder);
      expect(keys).toContain("tools_github");
      for (const key of keys) expect(key).toMatch(/^[\w-]+$/);
    },
  );
  differs(
    "285",
    "The key of a registry's result is registry_ and the query.",
    "A short hash follows, which keeps results of other registries, versions and lengths apart.",
    async () => {
      const cacheFolder = await temporaryFolder();
      const gateway = await openGateway(gatewayOptions({ cacheFolder }));
      world.registry.entries = [registryEntry("io.example/list-issues", world.github.url)];
      await findService(gateway).searchRegistryForCapability("List issues", true);
      const keys = await readKeys(cacheFolder);
      expect(keys.some((key) => /^registry_list_issues_[0-9a-f]{12}$/.test(key))).toBe(true);
    },
  );

  row("291", "getTools finds the tools of a server by its name.", async () => {
    await world.service.discoverTools(world.config, { useCache: true });
    expect((await world.service.cache.getTools("github"))?.tools).toEqual(stage.tools);
    expect(await world.service.cache.getTools("unknown")).toBeUndefined();
  });
  row(
    "294",
    "storeTools stores the tools of a server by its name, and they end with their time.",
    async () => {
      const cache = new MCPCache({ toolCacheTtlMs: 60_000 });
      await cache.storeTools("github", stage.tools);
      expect(await cache.getTools("github")).toHaveLength(3);
      const brief = new MCPCache({ toolCacheTtlMs: 0 });
      await brief.storeTools("github", stage.tools);
      expect(await brief.getTools("github")).toBeUndefined();
    },
  );
  row("297", "clear removes everything, in memory and in files.", async () => {
    const cacheDir = await temporaryFolder();
    const cache = new MCPCache({ cacheDir });
    for (const name of ["github", "jira"]) await cache.storeTools(name, stage.tools);
    await cache.clear();
    expect([await cache.getTools("github"), await cache.getTools("jira")]).toEqual([undefined, undefined]);
    expect(await readdir(cacheDir)).toEqual([]);
  });
  row("300", "clearServer removes the tools of one server, which is then asked again.", async () => {
    const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
    const service = findService(gateway);
    const servers = [await startServer(), await startServer()];
    const configs = servers.map(({ url }, index) => remote(`clear-${index}`, url));
    await service.warmCacheForServers(configs);
    await service.cache.clearServer("clear-0");
    for (const config of configs) await service.discoverTools(config, { useCache: true });
    expect(servers.map((server) => server.count("tools/list"))).toEqual([2, 1]);
  });
}
