import {
  MCPCache,
  MCPDiscoveryError,
  MCPDiscoveryProvider,
  MCPDiscoveryService,
  RuntimeMcpDiscovery,
} from "toolpipe/anygpt";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { closeServers } from "../../fixtures/http-servers.ts";
import { gatedServer, listIssues, remote } from "../../plugins/discovery/_fixtures.ts";
import { faulty, place } from "../../support/place.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

afterEach(closeServers);

async function openService(authHeaders?: Record<string, string>): Promise<MCPDiscoveryService> {
  await place();
  const service = authHeaders ? MCPDiscoveryService.withAuthHeaders(authHeaders) : new MCPDiscoveryService();
  onTestFinished(() => service.close());
  return service;
}

test("the service finds the tools of a server, and describes them", async () => {
  const { url } = await gatedServer(() => undefined);
  const service = await openService();
  const github = remote("github", url);
  const [tool] = await service.discoverTools(github);
  expect(tool).toMatchObject({ name: "list_issues", domains: ["github", "github.issues"] });
  expect(await service.toolToManifest(listIssues, github)).toMatchObject({ name: "list_issues" });
  expect(await service.warmCacheForServers([github])).toMatchObject({ successful: 1, cachedTools: 1 });
});

test("headers of the service go to every server, and to the servers of a provider", async () => {
  const seen = new Set<string | undefined>();
  const { url } = await gatedServer((request) => {
    seen.add(request.headers.authorization);
    return undefined;
  });
  const service = await openService({ Authorization: "Bearer of-the-service" });
  const provider = new MCPDiscoveryProvider(remote("github", url), service);
  expect((await provider.discover()).map(({ id }) => id)).toEqual(["mcp.github.list_issues"]);
  expect(seen).toEqual(new Set(["Bearer of-the-service"]));
});

test("failures have the names of the specification", async () => {
  const { url, close } = await gatedServer(() => undefined);
  await close();
  const service = await openService();
  const failure = await service.discoverTools(remote("gone", url)).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(MCPDiscoveryError);
  expect(failure).toMatchObject({ kind: "ConnectionFailed", code: "CONNECT_FAILED" });
});

test("capabilities are resolved at run time, and registered", async () => {
  await place({ project: { "toolpipe.config.json": { mcpServers: { faulty: faulty() } } } });
  const registered: string[] = [];
  const marketplace = { register: ({ id }: { id: string }) => void registered.push(id) };
  const { createGateway } = await import("../../../core/mod.ts");
  const { serverDiscovery } = await import("../../../plugins/discovery/mod.ts");
  const { types } = await import("../../../plugins/types/mod.ts");
  const { search } = await import("../../../plugins/search/mod.ts");
  const { passthrough } = await import("../../../presets/passthrough.ts");
  const gateway = await createGateway({
    preset: passthrough,
    plugins: [types(), search(), serverDiscovery()],
    options: { sources: { mcpServers: { faulty: faulty() } }, upstreams: { discover: "none" } },
  });
  onTestFinished(() => gateway.close());
  const service = new MCPDiscoveryService({ gateway });
  const resolved = await RuntimeMcpDiscovery.withDiscoveryService(service, marketplace).resolve("echo");
  expect(resolved.map(({ id }) => id)).toContain("mcp.faulty.echo");
  expect(registered).toEqual(resolved.map(({ id }) => id));
});

test("the cache stores tools by the name of their server, in memory and in files", async () => {
  const cacheDir = await temporaryFolder();
  const tools = [{ ...listIssues, inputType: ":any", domains: [], categories: [] }];
  const cache = new MCPCache({ cacheDir });
  expect(await cache.getTools("github")).toBeUndefined();
  await cache.storeTools("github", tools);
  await cache.storeTools("jira", tools);
  expect(await cache.getTools("github")).toEqual(tools);
  expect(await new MCPCache({ cacheDir }).getTools("github")).toEqual(tools);
  await cache.clearServer("github");
  expect([await cache.getTools("github"), await cache.getTools("jira")]).toEqual([undefined, tools]);
  await cache.clear();
  expect(await cache.getTools("jira")).toBeUndefined();
  const brief = new MCPCache({ toolCacheTtlMs: 0 });
  await brief.storeTools("github", tools);
  expect(await brief.getTools("github")).toBeUndefined();
});
