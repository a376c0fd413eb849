import { MCPDiscoveryProvider, MCPDiscoveryService, RuntimeMcpDiscovery } from "toolpipe/anygpt";
import { expect, onTestFinished } from "vitest";
import type { Specification } from "../specification.ts";
import { type Gate, startServer } from "./server.ts";
import { remote, world } from "./world.ts";

/** Only lets requests through that have this token. */
const needs =
  (token: string): Gate =>
  ({ headers }) =>
    headers.authorization === `Bearer ${token}` ? undefined : 401;

/** Lines 449 to 491: who uses the service. */
export function callerRows({ row, prose }: Specification): void {
  prose(449, 451, 459, 471, 474, 482, 491, 492);

  row(
    "454-457",
    "RuntimeMcpDiscovery finds capabilities by a service, and registers them in a marketplace.",
    async () => {
      const registered: string[] = [];
      const marketplace = { register: ({ id }: { readonly id: string }) => void registered.push(id) };
      const service = new MCPDiscoveryService({ gateway: world.gateway });
      const runtime = new RuntimeMcpDiscovery(marketplace, service);
      expect(runtime.discoveryService).toBe(service);
      const found = await runtime.resolve("list issues");
      expect(found[0]?.id).toBe("mcp.github.list_issues");
      expect(registered).toEqual(found.map(({ id }) => id));
      expect((await new RuntimeMcpDiscovery(undefined, service).resolve("list issues"))[0]?.id).toBe(
        "mcp.github.list_issues",
      );
    },
  );
  row("460-465", "Made without a service, it has one of its own, on the servers of the user.", async () => {
    const runtime = new RuntimeMcpDiscovery();
    onTestFinished(() => runtime.discoveryService.close());
    expect(runtime.discoveryService).toBeInstanceOf(MCPDiscoveryService);
    expect((await runtime.resolve("list issues"))[0]?.id).toBe("mcp.github.list_issues");
  });
  row("467-470", "It can be made on a service that others use too.", async () => {
    const service = new MCPDiscoveryService({ gateway: world.gateway });
    const [one, two] = [1, 2].map(() => RuntimeMcpDiscovery.withDiscoveryService(service));
    expect([one?.discoveryService, two?.discoveryService]).toEqual([service, service]);
    expect((await two?.resolve("search code"))?.map(({ id }) => id)).toContain("mcp.github.search_code");
  });

  row(
    "477-480, 489-490",
    "MCPDiscoveryProvider gives the capabilities of the one server of its config.",
    async () => {
      const service = new MCPDiscoveryService({ gateway: world.gateway });
      const provider = new MCPDiscoveryProvider(world.config, service);
      expect(provider.config).toBe(world.config);
      expect((await provider.discover()).map(({ id }) => id)).toEqual([
        ...["mcp.github.list_issues", "mcp.github.create_issue", "mcp.github.search_code"],
      ]);
    },
  );
  row(
    "483-485",
    "Without a service it makes its own, which sends the credentials of the config.",
    async () => {
      const server = await startServer({ gate: needs("of-the-config") });
      const headers = { Authorization: "Bearer of-the-config" };
      const provider = new MCPDiscoveryProvider(remote("locked", server.url, { connection: { headers } }));
      onTestFinished(() => provider.discoveryService.close());
      expect(await provider.discover()).toHaveLength(3);
    },
  );
  row("486-488", "A service can be made with headers, which every server gets.", async () => {
    const server = await startServer({ gate: needs("of-the-service") });
    const service = MCPDiscoveryService.withAuthHeaders({ Authorization: "Bearer of-the-service" });
    onTestFinished(() => service.close());
    expect(await service.discoverTools(remote("locked-too", server.url))).toHaveLength(3);
    const own = world.service.withAuthHeaders({ Authorization: "Bearer of-the-service" });
    expect(await own.discoverTools(remote("locked-too", server.url))).toHaveLength(3);
    expect(await world.service.discoverTools(remote("locked-too", server.url)).catch(() => "refused")).toBe(
      "refused",
    );
  });
}
