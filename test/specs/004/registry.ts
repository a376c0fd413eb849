import { expect } from "vitest";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { findService, gatewayOptions, registryEntry, world } from "./world.ts";

/** Lines 138 to 154: the discovery from registries. */
export function registryRows({ row, added, prose }: Specification): void {
  prose(138, 150);

  row(
    "141-142, 144-147",
    "The result of a registry's discovery is a list of pairs of server and tools.",
    async () => {
      const server = await startServer();
      world.registry.entries = ["one", "two"].map((name) =>
        registryEntry(`io.example/github-${name}`, server.url),
      );
      const lines: string[] = [];
      for (const [config, tools] of await world.service.discoverFromRegistry("github")) {
        lines.push(`Server: ${config.name} → ${tools.length} tools`);
      }
      expect(lines.toSorted()).toEqual([
        "Server: io.example/github-one → 3 tools",
        "Server: io.example/github-two → 3 tools",
      ]);
    },
  );
  row("151", "The registry's API is asked for the servers that fit the query.", async () => {
    world.registry.entries = ["fits-1", "fits-2", "else"].map((name) =>
      registryEntry(`io.example/${name}`, world.github.url),
    );
    const { servers } = await world.service.discoverFromRegistry("fits");
    expect(servers.map(({ config }) => config.name).toSorted()).toEqual([
      "io.example/fits-1",
      "io.example/fits-2",
    ]);
    expect(world.registry.seen.at(-1)?.path).toContain("search=fits");
  });
  added(
    "151",
    "The best 20 matches are taken, the answer counts the others, and an option takes them too.",
    "A common word has hundreds of matches, and each would be connected.",
    async () => {
      world.registry.entries = Array.from({ length: 130 }, (_, index) =>
        registryEntry(`io.example/common-${index}`, world.github.url),
      );
      const some = await world.service.searchRegistryForCapability("common");
      expect([some.length, some.leftOut]).toEqual([20, 110]);
      const all = await world.service.searchRegistryForCapability("common", false, { allMatches: true });
      expect([all.length, all.leftOut]).toEqual([130, 0]);
    },
  );
  row("152", "What a registry answers is cached for an hour, where the cache is to be used.", async () => {
    const gateway = await openGateway(gatewayOptions({ cacheFolder: await temporaryFolder() }));
    const kept: number[] = [];
    const { cache } = gateway.services;
    if (cache) {
      const { set } = cache;
      Object.assign(cache, {
        set: (key: string, value: unknown, ttlMs: number) => {
          if (key.startsWith("registry_")) kept.push(ttlMs);
          return set(key, value, ttlMs);
        },
      });
    }
    world.registry.entries = [registryEntry("io.example/hourly", world.github.url)];
    const before = world.registry.seen.length;
    const service = findService(gateway);
    for (const _ of ["first", "second"]) {
      const { servers } = await service.discoverFromRegistry("hourly", { useCache: true });
      expect(servers).toHaveLength(1);
    }
    expect(world.registry.seen.length - before).toBe(1);
    expect(kept).toEqual([3_600_000]);
  });
  row("153", "The servers of a registry are asked in parallel, no more at once than the limit.", async () => {
    let now = 0;
    let most = 0;
    const server = await startServer({
      async gate({ method }) {
        if (method !== "tools/list") return;
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 40));
        now--;
      },
    });
    world.registry.entries = Array.from({ length: 7 }, (_, index) =>
      registryEntry(`io.example/many-${index}`, server.url),
    );
    await world.service.discoverFromRegistry("many", { maxParallelDiscoveries: 3 });
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(3);
  });
  row("154", "The result has the servers that answered, and the failure of each that did not.", async () => {
    const broken = await startServer({ gate: () => 500 });
    world.registry.entries = [
      registryEntry("io.example/mixed-good", world.github.url),
      registryEntry("io.example/mixed-broken", broken.url),
    ];
    const { servers, failures } = await world.service.discoverFromRegistry("mixed");
    expect(servers.map(({ config }) => config.name)).toEqual(["io.example/mixed-good"]);
    expect(failures.map(({ server, error }) => [server, error.code])).toEqual([
      ["io.example/mixed-broken", "SESSION_INIT_FAILED"],
    ]);
  });
}
