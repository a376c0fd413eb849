import { beforeAll, expect } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import type { DiscoveredTool, DiscoveryOptions, DiscoveryStep } from "../../../plugins/discovery/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { folderForAll, openForAll } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { startServer, type ToolServer } from "./server.ts";
import { createService, findService, gatewayOptions, remote, traceSteps, world } from "./world.ts";

const everything: DiscoveryOptions = {
  useCache: true,
  introspectOutputSchemas: true,
  lazyOutputSchemas: false,
  registerInMarketplace: true,
};

/** Lines 102 to 136: the flow of a discovery. */
export function flowRows({ row, added, prose }: Specification): void {
  prose(102, 104);

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
}
