import { afterEach, expect, test } from "vitest";
import { cache } from "../../../plugins/cache/mod.ts";
import { createToolCache } from "../../../plugins/discovery/tool-cache.ts";
import { registries } from "../../../plugins/registries/mod.ts";
import { closeServers, listen } from "../../fixtures/http-servers.ts";
import { gatedServer } from "../../plugins/discovery/_fixtures.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { pooled } from "./_pool.ts";

afterEach(closeServers);

test("caches answers of a real registry for the next query, where configured", async () => {
  let asked = 0;
  const server = await gatedServer(() => undefined);
  const entry = {
    server: {
      name: "io.a/github",
      version: "1.2.3",
      description: "The server io.a/github",
      remotes: [{ type: "streamable-http", url: server.url }],
    },
    _meta: { "io.modelcontextprotocol.registry/official": { status: "active", isLatest: true } },
  };
  const { origin } = await listen((_, response) => {
    asked++;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ servers: [entry], metadata: {} }));
  });
  const gateway = await openGateway({
    plugins: [cache({ folder: await temporaryFolder() }), registries({ urls: [origin] })],
  });
  const { services } = gateway;
  if (!services.cache) throw new Error("There is no cache.");
  const service = pooled({
    allowPrivate: true,
    cache: createToolCache(services.cache),
    registries: services.registries,
  });
  const first = await service.discoverFromRegistry("github", { useCache: true });
  expect(first.servers.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["list_issues"]]);
  const before = server.seen.length;
  const second = await service.discoverFromRegistry("github", { useCache: true });
  expect(second.servers[0]?.fromCache).toBe(true);
  expect([asked, server.seen.length]).toEqual([1, before]);
  await service.searchRegistryForCapability("github", false);
  expect(asked).toBe(2);
});
