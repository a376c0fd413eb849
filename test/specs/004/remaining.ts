import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { runMain } from "../../support/run-cli.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { startServer } from "./server.ts";
import { local, remote, world } from "./world.ts";

/** Lines 552 to 591: tests, and where the parts are. */
export function remainingRows({ row, differs, prose }: Specification): void {
  prose(552, 554, 563, 573, 575, "588-591");

  row("556", "Many more than 26 tests run the discovery.", ({ task }) => {
    const rows = task.file.tasks.filter(({ name }) => name.startsWith("004:"));
    expect(rows.length).toBeGreaterThan(26);
  });
  row(
    "561",
    "All parts work together: a server of a config is warmed, found, and called, by commands.",
    async () => {
      const config = { mcpServers: { github: { url: world.github.url }, local } };
      await writeFiles(process.cwd(), { "whole.config.json": JSON.stringify(config) });
      const run = (...line: string[]) => runMain([...line, "--config=whole.config.json"]);
      expect(await run("warm")).toMatchObject({ code: 0 });
      const found = JSON.parse((await run("discover", "list issues", "--json")).stdout) as {
        from: string;
        servers: { name: string; tools: { name: string; inputType: string }[] }[];
      };
      expect([found.from, found.servers[0]?.name]).toEqual(["configured", "github"]);
      expect(found.servers[0]?.tools[0]).toMatchObject({
        name: "list_issues",
        inputType: expect.stringContaining("[:owner :string]"),
      });
      const args = '--args={"owner":"a","repo":"b"}';
      const { code, stdout } = await run("execute", "github", "list_issues", args, "--json");
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { success: true }]);
    },
  );
  differs(
    "566-568",
    "The tests are run by cargo.",
    "They are in TypeScript, and run by vitest, on Node and on Deno.",
    ({ task }) => {
      expect(task.file.filepath).toBe(fileURLToPath(new URL("../004.test.ts", import.meta.url)));
      expect(task.file.tasks.length).toBeGreaterThan(26);
    },
  );
  differs(
    "577-584",
    "The parts are in files of Rust below ccos/src/mcp, and their tests below ccos/tests.",
    "They are modules of this package, named by what they do; the parts are the same.",
    async () => {
      const discovery = await import("../../../plugins/discovery/mod.ts");
      const { createDiscoveryService } = await import("../../../plugins/discovery/service.ts");
      const { createOpenServer } = await import("../../../plugins/discovery/open-server.ts");
      const { createRegistryClient } = await import("../../../plugins/registries/mod.ts");
      const { limitRequests } = await import("../../../plugins/discovery/discover-server.ts");
      expect(discovery.serverDiscovery().name).toBe("server-discovery");
      expect(discovery.discoverySteps).toHaveLength(10);
      expect(Object.keys(discovery.discoveryFaults)).toHaveLength(7);
      const { servers } = world.gateway.services;
      const server = await startServer();
      const config = remote("parts", server.url);
      const handle = await createOpenServer(servers ?? { open: () => Promise.reject() }, true)(config, {});
      expect(server.live.size).toBe(1);
      await handle.close();
      expect(server.live.size).toBe(0);
      const parts = { servers: servers ?? { open: () => Promise.reject() }, emitType: () => ":any" };
      const inferTags = () => ({ domains: [], categories: [] });
      const service = createDiscoveryService({ ...parts, inferTags, allowPrivate: true });
      expect(await service.discoverTools(config)).toHaveLength(3);
      world.registry.entries = [];
      const client = createRegistryClient({ registries: [world.registry.origin] });
      expect(await client.search("parts")).toMatchObject({ entries: [], troubles: [] });
      await limitRequests()("parts", { requestsPerSecond: 1, burstSize: 1 });
    },
  );
}
