import { beforeAll, expect } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import type { DiscoveredTool, DiscoveryOptions, DiscoveryStep } from "../../../plugins/discovery/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { folderForAll, openForAll } from "../shared.ts";
import type { Specification } from "../specification.ts";
import {
  createService,
  findService,
  gatewayOptions,
  registryEntry,
  remote,
  startServer,
  type ToolServer,
  traceSteps,
  world,
} from "./world.ts";

const everything: DiscoveryOptions = {
  useCache: true,
  introspectOutputSchemas: true,
  lazyOutputSchemas: false,
  registerInMarketplace: true,
};

/** Lines 102 to 154: the flow of a discovery. */
export function flowRows({ row, added, prose }: Specification): void {
  prose(102, 104, 138, 150);

  const flow = {} as {
    gateway: Gateway;
    server: ToolServer;
    tools: readonly DiscoveredTool[];
    steps: readonly DiscoveryStep[];
    again: readonly DiscoveryStep[];
    /** Tools of the catalog after the discovery. */
    catalog: readonly string[];
  };

  // One discovery with all its optional steps, and the same one again, with its cache.
  beforeAll(async () => {
    const server = await startServer();
    const mcpServers = { github: { url: server.url } };
    const gateway = await openForAll(gatewayOptions({ mcpServers, cacheFolder: await folderForAll() }));
    const config = gateway.services.servers?.status("github")?.config ?? world.config;
    const [first, second] = [traceSteps(), traceSteps()];
    const service = findService(gateway);
    const tools = await service.discoverTools(config, { ...everything, onStep: first.onStep });
    const asked = server.asked.length;
    await service.discoverTools(config, { ...everything, onStep: second.onStep });
    expect(server.asked.length).toBe(asked);
    const catalog = gateway.catalog.tools("github").map(({ id }) => id);
    Object.assign(flow, { gateway, server, tools, steps: first.steps, again: second.steps, catalog });
  });

  const outcomeOf = (number: number): string | undefined => {
    const step = flow.steps.find((one) => one.number === number);
    return step && `${step.name} ${step.outcome}`;
  };

  row("107", "Step 1 looks for the server's tools in the cache.", async () => {
    expect(outcomeOf(1)).toBe("cache done");
    expect(flow.steps.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
  row("108", "Cached tools are the result, and the server is not asked.", async () => {
    expect(flow.again[0]).toMatchObject({ name: "cache", outcome: "hit" });
    // That it was not asked is seen where the second discovery is run.
    expect(flow.server.count("tools/list")).toBeLessThanOrEqual(2);
  });
  added(
    "107-108",
    "With cached tools all other steps are skipped: nothing is registered or exported again.",
    "Registered and exported tools need no second registration; a step that did nothing says so.",
    async () => {
      expect(flow.again.slice(1).map(({ outcome }) => outcome)).toEqual(Array(9).fill("skipped"));
      const traced = traceSteps();
      const out = await folderForAll();
      const options = { useCache: true, exportToRtfs: true, exportDirectory: out, onStep: traced.onStep };
      await world.service.discoverTools(world.config, { useCache: true });
      await world.service.discoverTools(world.config, options);
      expect(traced.outcomes()).toMatchObject({ cache: "hit", registration: "skipped" });
    },
  );
  row("110-111", "Step 2 takes a token of the server's bucket; without one nothing is sent.", async () => {
    expect(outcomeOf(2)).toBe("rate-limit done");
    const server = await startServer();
    const abort = new AbortController();
    const sleep = async (_: number, signal?: AbortSignal): Promise<void> => {
      abort.abort();
      signal?.throwIfAborted();
    };
    const limits = { empty: { requestsPerSecond: 0.001, burstSize: 1 } };
    const service = createService({ rateLimits: limits, waiting: { sleep } });
    const config = remote("empty", server.url);
    const error = await catchFailure(service.discoverTools(config, { signal: abort.signal }));
    expect([error.code, server.asked.length]).toEqual(["CANCELLED", 1]);
  });
  added(
    "110-111",
    "Every request takes a token, and not only every discovery.",
    "A limit of ten a second would else let through fifty requests a second and more.",
    async () => {
      const server = await startServer();
      const sleep = (): Promise<void> => Promise.reject(new Error("It waits."));
      const rateLimit = { requestsPerSecond: 0.001, burstSize: 3 };
      const service = createService({ waiting: { sleep } });
      await expect(service.discoverTools(remote("each", server.url), { rateLimit })).rejects.toThrow();
      expect(server.asked).toHaveLength(3);
      expect(server.count("tools/list")).toBe(0);
    },
  );
  row("113-114", "Step 3 opens a session: initialize is posted, and its answer has the session's id.", () => {
    expect(outcomeOf(3)).toBe("session done");
    const methods = flow.server.asked.map(({ method }) => method);
    expect(methods.indexOf("initialize")).toBeGreaterThanOrEqual(0);
    const opened = flow.server.asked.find(({ method }) => method === "notifications/initialized");
    expect(opened?.headers["mcp-session-id"]).toBe("session-1");
  });
  row("116-117", "Step 4 posts tools/list with that session.", () => {
    expect(outcomeOf(4)).toBe("tools done");
    const listed = flow.server.asked.find(({ method }) => method === "tools/list");
    expect(listed?.headers["mcp-session-id"]).toBe("session-1");
  });
  row("119-120", "Step 5 gives each schema its type of RTFS.", () => {
    expect(outcomeOf(5)).toBe("schemas done");
    expect(flow.tools[0]?.inputType).toBe(
      "[:map\n  [:owner :string]\n  [:repo :string]\n  [:state {:optional true} :string]]",
    );
  });
  row("122-123", "Step 6 calls a tool with safe arguments, and infers the type of its output.", () => {
    expect(outcomeOf(6)).toBe("outputs done");
    expect(flow.tools[0]?.outputType).toBe(
      "[:vector [:map\n  [:id :int]\n  [:title :string]\n  [:state :string]]]",
    );
  });
  row("125-126", "Step 7 infers domains and categories from the names of server and tool.", () => {
    expect(outcomeOf(7)).toBe("domains done");
    expect(flow.tools[2]).toMatchObject({
      domains: ["github", "github.code"],
      categories: ["crud.read", "search"],
    });
  });
  row("128-129", "Step 8 stores the tools in the cache, as they were found.", () => {
    expect(outcomeOf(8)).toBe("store done");
    expect(flow.again[0]?.outcome).toBe("hit");
  });
  row("131-132", "Step 9 registers the tools where that is asked for, and they can be called.", async () => {
    expect(outcomeOf(9)).toBe("registration done");
    expect(flow.catalog).toEqual(["github:list_issues", "github:create_issue", "github:search_code"]);
    const args = { owner: "a", repo: "b" };
    expect(await flow.gateway.run({ tool: "github:create_issue", args })).toMatchObject({ ok: true });
  });
  row("134-135", "Step 10 ends the session.", async () => {
    expect(outcomeOf(10)).toBe("termination done");
    const server = await startServer();
    await world.service.discoverTools(remote("ended", server.url));
    expect(server.asked.at(-1)).toMatchObject({ method: "DELETE" });
    expect(server.live.size).toBe(0);
  });
  added(
    "122-132",
    "Optional steps that the options do not ask for are skipped, and so is a registration of nothing.",
    "A step that did nothing must not be told as done.",
    async () => {
      const traced = traceSteps();
      await world.service.discoverTools(remote("plain", world.github.url), { onStep: traced.onStep });
      const skipped = traced.steps.filter(({ outcome }) => outcome === "skipped").map(({ name }) => name);
      expect(skipped).toEqual(["cache", "outputs", "store", "registration"]);
      const empty = await startServer({ tools: [] });
      const none = traceSteps();
      const options = { registerInMarketplace: true, onStep: none.onStep };
      await world.service.discoverTools(remote("nothing", empty.url), options);
      expect(none.outcomes()).toMatchObject({ schemas: "skipped", registration: "skipped" });
    },
  );

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
    const gateway = await openGateway(gatewayOptions({ cacheFolder: await folderForAll() }));
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
