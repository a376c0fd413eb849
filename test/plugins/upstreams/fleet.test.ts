import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createGateway,
  type Gateway,
  GatewayError,
  localTools,
  type Plugin,
  type ToolDefinition,
  textResult,
} from "../../../core/mod.ts";
import { createCache } from "../../../plugins/cache/mod.ts";
import type { ServerConfig } from "../../../plugins/sources/server-config.ts";
import { CONNECT_FAILED, NEEDS_AUTH, UPSTREAM_CLOSED } from "../../../plugins/upstreams/errors.ts";
import { createFleet, type Fleet, type FleetParts } from "../../../plugins/upstreams/fleet.ts";
import type { Held } from "../../../plugins/upstreams/server-status.ts";
import { createSnapshot } from "../../../plugins/upstreams/snapshot.ts";
import type { Listing, UpstreamEvents } from "../../../plugins/upstreams/upstream.ts";

function tool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, inputSchema: { type: "object" }, ...more };
}

/** A server that is nothing but what it says and how long it takes to say it. */
function server(name: string, more: { held?: Held; config?: Partial<ServerConfig> } = {}) {
  const side = {
    tools: [tool("a")] as ToolDefinition[],
    rejected: [] as Listing["rejected"],
    /** How long a connection takes to open, and a list to be read. */
    connectMs: 0,
    listMs: 0,
    refusal: undefined as GatewayError | undefined,
    /** Whether its lists fail. */
    broken: undefined as GatewayError | undefined,
    connects: 0,
    lists: 0,
    open: 0,
    listing: 0,
    aborted: 0,
    priors: [] as unknown[],
    events: {} as UpstreamEvents,
    member: {
      config: {
        name,
        connection: { type: "stdio" as const, command: name, args: [], env: {} },
        origin: { source: "test", scope: "config" as const },
        ...more.config,
      },
      held: more.held,
      async connect(events: UpstreamEvents, prior: unknown, signal: AbortSignal) {
        side.connects++;
        side.priors.push(prior);
        await new Promise<void>((resolve, reject) => {
          const onAbort = (): void => {
            clearTimeout(timer);
            side.aborted++;
            reject(signal.reason);
          };
          const timer = setTimeout(() => {
            signal.removeEventListener("abort", onAbort);
            resolve();
          }, side.connectMs);
          signal.addEventListener("abort", onAbort);
        });
        if (side.refusal) throw side.refusal;
        side.events = events;
        side.open++;
        let fail: (error: GatewayError) => void = () => {};
        return {
          info: { name, title: `The ${name}` },
          prior: { connects: side.connects },
          async list(): Promise<Listing> {
            side.lists++;
            side.listing++;
            const tools = [...side.tools];
            try {
              if (side.listMs > 0)
                await new Promise<void>((resolve, reject) => {
                  fail = reject;
                  setTimeout(resolve, side.listMs);
                });
              if (side.broken) throw side.broken;
            } finally {
              side.listing--;
            }
            return { tools, rejected: side.rejected, resources: [], resourceTemplates: [], prompts: [] };
          },
          call: async (called: string) => textResult(called),
          async close() {
            side.open--;
            fail(new GatewayError(UPSTREAM_CLOSED, "The connection is closed."));
          },
        };
      },
    },
  };
  return side;
}

type Side = ReturnType<typeof server>;

async function fleetOf(
  sides: readonly Side[],
  { plugins = [], ...parts }: Partial<FleetParts> & { plugins?: Plugin[] } = {},
): Promise<{ fleet: Fleet; gateway: Gateway; errors: GatewayError[] }> {
  const errors: GatewayError[] = [];
  const listener = { name: "listener", setup: () => ({ error: (e: GatewayError) => void errors.push(e) }) };
  const gateway = await createGateway({ plugins: [...plugins, listener] });
  const fleet = createFleet({
    gateway,
    members: sides.map(({ member }) => member),
    snapshot: undefined,
    idleMs: 300_000,
    concurrency: 16,
    maxParallel: 5,
    freshMs: 3_600_000,
    ...parts,
  });
  onTestFinished(async () => {
    vi.useRealTimers();
    await fleet.close();
    await gateway.close();
  });
  await fleet.restore();
  return { fleet, gateway, errors };
}

const names = (gateway: Gateway): string[] => gateway.catalog.tools().map(({ id }) => id);

beforeEach(async () => {
  // It is imported when it is first needed, which takes time that is not faked.
  await import("p-queue");
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe("discovery", () => {
  test("asks no server before it is told to, and knows all of them", async () => {
    const sides = [server("one"), server("two")];
    const { fleet, gateway } = await fleetOf(sides);
    expect(sides.map(({ connects }) => connects)).toEqual([0, 0]);
    expect(gateway.catalog.servers().map(({ id }) => id)).toEqual(["one", "two"]);
    expect(fleet.statuses()).toMatchObject([
      { name: "one", status: "disconnected", reason: "It has not been used yet.", listedAt: undefined },
      { name: "two", status: "disconnected", reason: "It has not been used yet.", listedAt: undefined },
    ]);
  });

  test("asks no more than five servers at once, and all of them in the end", async () => {
    const sides = Array.from({ length: 12 }, (_, index) => server(`s${index}`));
    for (const side of sides) side.listMs = 1_000;
    const { fleet, gateway } = await fleetOf(sides);
    let done = false;
    const all = fleet.discover("all").then(() => {
      done = true;
    });
    let most = 0;
    while (!done) {
      most = Math.max(
        most,
        sides.reduce((sum, side) => sum + side.listing, 0),
      );
      await vi.advanceTimersByTimeAsync(100);
    }
    await all;
    expect(most).toBe(5);
    expect(gateway.catalog.tools()).toHaveLength(12);
  });

  test("a server that hangs or is dead delays no other", async () => {
    const hanging = Array.from({ length: 4 }, (_, index) => server(`hanging${index}`));
    for (const side of hanging) side.connectMs = 10_000;
    const dead = server("dead");
    dead.refusal = new GatewayError(CONNECT_FAILED, "Nobody is there.");
    const good = Array.from({ length: 10 }, (_, index) => server(`good${index}`));
    const { fleet, gateway } = await fleetOf([...hanging, dead, ...good]);
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(10);
    expect(gateway.catalog.tools()).toHaveLength(10);
    expect(fleet.status("dead")).toMatchObject({ status: "error", reason: "Nobody is there." });
  });

  test("one that failed waits behind those that did not", async () => {
    const [bad, busy, good] = [server("bad"), server("busy"), server("good")];
    bad.refusal = new GatewayError(CONNECT_FAILED, "Nobody is there.");
    const { fleet, gateway } = await fleetOf([bad, busy, good], { maxParallel: 1 });
    await Promise.all([fleet.discover({ name: "bad" }), vi.advanceTimersByTimeAsync(1)]);
    bad.connectMs = 10_000;
    busy.listMs = 5_000;
    void fleet.discover({ name: "busy" });
    await vi.advanceTimersByTimeAsync(2_000);
    // By now the bad one is in line for its second try.
    void fleet.discover({ name: "good" });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(names(gateway)).toEqual(["busy:a", "good:a"]);
    expect(bad.connects).toBe(2);
  });

  test("asks those never seen, those not seen lately, one, or all", async () => {
    const sides = [server("one"), server("two"), server("three")];
    const { fleet } = await fleetOf(sides);
    const lists = () => sides.map((side) => side.lists);
    const discover = async (which: Parameters<Fleet["discover"]>[0]) => {
      const done = fleet.discover(which);
      await vi.advanceTimersByTimeAsync(1);
      await done;
    };
    await discover({ name: "two" });
    expect(lists()).toEqual([0, 1, 0]);
    await discover("missing");
    expect(lists()).toEqual([1, 1, 1]);
    await discover("stale");
    expect(lists()).toEqual([1, 1, 1]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    await discover({ name: "one" });
    await discover("stale");
    expect(lists()).toEqual([2, 2, 2]);
    await discover("all");
    expect(lists()).toEqual([3, 3, 3]);
  });

  test("a server that a call waits for is asked at once, whoever hangs before it, and once for all calls", async () => {
    const hanging = server("hanging");
    hanging.connectMs = 10_000;
    const side = server("one");
    side.listMs = 100;
    const { fleet, gateway } = await fleetOf([hanging, side], { maxParallel: 1 });
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(10);
    expect(side.connects).toBe(0);
    const asked = Promise.all([fleet.ask("one"), fleet.ask("one"), fleet.ask("none")]);
    await vi.advanceTimersByTimeAsync(110);
    await asked;
    expect(names(gateway)).toEqual(["one:a"]);
    expect([side.connects, side.lists]).toEqual([1, 1]);
  });

  test("a server is asked again after a failure that may pass, from each second to each minute", async () => {
    const side = server("late");
    side.refusal = new GatewayError(CONNECT_FAILED, "Nobody is there.");
    const { fleet, gateway, errors } = await fleetOf([side]);
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    const early = side.connects;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(early).toBeGreaterThan(10);
    expect(side.connects - early).toBeGreaterThanOrEqual(6);
    // Never more than one a minute, once it has gone on for a while.
    expect(side.connects - early).toBeLessThanOrEqual(10);
    expect(errors.map(({ message }) => message)).toEqual(["Nobody is there."]);
    side.refusal = undefined;
    await vi.advanceTimersByTimeAsync(90_000);
    expect(names(gateway)).toEqual(["late:a"]);
    expect(fleet.status("late")).toMatchObject({ status: "connected", reason: "It is connected." });
    const { connects } = side;
    await vi.advanceTimersByTimeAsync(200_000);
    expect(side.connects).toBe(connects);
  });

  test("a server is not asked again after a failure that only a person can mend", async () => {
    const side = server("locked");
    side.refusal = new GatewayError(NEEDS_AUTH, "It wants a login.");
    const { fleet } = await fleetOf([side]);
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(side.connects).toBe(1);
    expect(fleet.status("locked")).toMatchObject({ status: "needs-auth", reason: "It wants a login." });
  });

  test("a server that can be reached but not listed is in error, and calls still go through", async () => {
    const side = server("odd");
    side.broken = new GatewayError(CONNECT_FAILED, "It has no list.");
    const { fleet } = await fleetOf([side]);
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    expect(fleet.status("odd")).toMatchObject({ status: "error", reason: "It has no list." });
    expect(await fleet.link("odd")?.call("x", {}, {})).toEqual(textResult("x"));
    side.broken = undefined;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(fleet.status("odd")?.status).toBe("connected");
  });
});

describe("changes", () => {
  async function connectedFleet(sides: readonly Side[], parts: Partial<FleetParts> = {}) {
    const made = await fleetOf(sides, parts);
    const done = made.fleet.discover("all");
    await vi.advanceTimersByTimeAsync(2_000);
    await done;
    return made;
  }

  test("a server that says its lists have changed is read again, and no other", async () => {
    const [one, two] = [server("one"), server("two")];
    const { gateway } = await connectedFleet([one, two]);
    one.tools = [tool("a"), tool("b")];
    one.events.onListChanged?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(names(gateway)).toEqual(["one:a", "one:b", "two:a"]);
    expect([one.lists, two.lists]).toEqual([2, 1]);
    expect([one.connects, two.connects]).toEqual([1, 1]);
  });

  test("a change that comes while the lists are being read is not missed", async () => {
    const side = server("one");
    const { gateway } = await connectedFleet([side]);
    side.listMs = 500;
    side.events.onListChanged?.();
    await vi.advanceTimersByTimeAsync(100);
    expect(side.listing).toBe(1);
    side.tools = [tool("later")];
    side.events.onListChanged?.();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(names(gateway)).toEqual(["one:later"]);
    expect(side.lists).toBe(3);
  });

  test("a server that announces changes all the time is read once a second", async () => {
    const side = server("one");
    await connectedFleet([side]);
    for (let step = 0; step < 1_000; step++) {
      side.events.onListChanged?.();
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(side.lists).toBeGreaterThanOrEqual(9);
    expect(side.lists).toBeLessThanOrEqual(13);
  });

  test("the catalog moves when something has changed, and only then", async () => {
    const side = server("one");
    side.tools = [tool("a"), tool("b", { description: "B" })];
    const { fleet, gateway } = await connectedFleet([side]);
    const { revision } = gateway.catalog;
    const again = async () => {
      const done = fleet.discover("all");
      await vi.advanceTimersByTimeAsync(1);
      await done;
      return gateway.catalog.revision;
    };
    side.tools = [tool("a"), tool("b", { description: "B" })];
    expect(await again()).toBe(revision);
    side.tools = [tool("a"), tool("b", { description: "Another" })];
    expect(await again()).toBe(revision + 1);
    side.tools = [tool("a")];
    expect(await again()).toBe(revision + 2);
    expect(await again()).toBe(revision + 2);
  });

  test("after a reconnect the lists are read again", async () => {
    const side = server("one");
    const { fleet, gateway } = await connectedFleet([side]);
    side.events.onClosed?.("its process was ended by SIGKILL");
    expect(fleet.status("one")).toMatchObject({
      status: "disconnected",
      reason: "Its process was ended by SIGKILL. It is opened again when it is needed.",
    });
    side.tools = [tool("new")];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(side.connects).toBe(1);
    const call = fleet.link("one")?.call("a", {}, {});
    await vi.advanceTimersByTimeAsync(1);
    expect(await call).toEqual(textResult("a"));
    expect([side.connects, side.lists]).toEqual([2, 2]);
    expect(names(gateway)).toEqual(["one:new"]);
    expect(side.priors).toEqual([undefined, { connects: 1 }]);
  });

  test("a connection nobody uses is closed, and the status says so", async () => {
    const side = server("one");
    const { fleet, gateway } = await connectedFleet([side], { idleMs: 10_000 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(side.open).toBe(0);
    expect(fleet.status("one")).toMatchObject({
      status: "disconnected",
      reason: "It was not used for a while; it is opened again when it is needed.",
    });
    expect(names(gateway)).toEqual(["one:a"]);
  });
});

describe("no tool disappears without a reason", () => {
  test("tools that could not be read, and those the catalog does not take, are in the status", async () => {
    const side = server("one");
    side.rejected = [{ name: "bad", reason: "its inputSchema is not an object" }];
    side.tools = [tool("a"), tool("a", { description: "another" }), tool("b")];
    const { fleet, gateway } = await fleetOf([side]);
    const rejected = () => fleet.status("one")?.listing?.rejected;
    for (let round = 0; round < 2; round++) {
      const done = fleet.discover("all");
      await vi.advanceTimersByTimeAsync(1);
      await done;
      expect(names(gateway)).toEqual(["one:a", "one:b"]);
      expect(rejected()).toEqual([
        { name: "bad", reason: "its inputSchema is not an object" },
        { name: "a", reason: "its server lists this name twice; the first one counts" },
      ]);
    }
    side.rejected = [];
    side.tools = [tool("a")];
    const done = fleet.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(rejected()).toEqual([]);
  });

  test("a server with a name the gateway needs is in error, is never connected, and the others go on", async () => {
    const own = localTools("own", { id: "mine", builtin: true }, [
      { ...tool("t"), run: () => textResult("mine") },
    ]);
    const [taken, impossible, good] = [server("mine"), server("a:b"), server("good")];
    const { fleet, gateway, errors } = await fleetOf([taken, impossible, good], { plugins: [own] });
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(names(gateway)).toEqual(["good:a"]);
    expect(fleet.status("mine")).toMatchObject({
      status: "error",
      reason: 'The server id "mine" is taken by the gateway itself. Give the server another name.',
    });
    expect(fleet.status("a:b")?.status).toBe("error");
    expect([taken.connects, impossible.connects]).toEqual([0, 0]);
    expect(errors.map(({ code }) => code)).toEqual(["CONFIG_INVALID", "CONFIG_INVALID"]);
    expect(gateway.catalog.tool("mine:t")?.builtin).toBe(true);
  });

  test("a plugin that fails on a server's tools is the reason they are not there, until it no longer does", async () => {
    let failing = true;
    const enricher: Plugin = {
      name: "enricher",
      setup: () => ({
        "tool:discover"() {
          if (failing) throw new Error("canary");
        },
      }),
    };
    const side = server("one");
    const { fleet, gateway, errors } = await fleetOf([side], { plugins: [enricher] });
    const ask = async () => {
      const done = fleet.discover("all");
      await vi.advanceTimersByTimeAsync(1);
      await done;
    };
    await ask();
    expect(fleet.status("one")).toMatchObject({
      status: "error",
      reason: 'The plugin "enricher" failed in its "tool:discover" hook.',
    });
    expect(errors).toHaveLength(1);
    failing = false;
    await ask();
    expect(fleet.status("one")?.status).toBe("connected");
    expect(names(gateway)).toEqual(["one:a"]);
  });

  test("a server that is held back is not connected, whoever asks, and says why", async () => {
    const side = server("project", { held: { status: "needs-approval", reason: "Nobody has approved it." } });
    const off = server("off", { held: { status: "disconnected", reason: "It is switched off." } });
    const { fleet } = await fleetOf([side, off]);
    await fleet.discover("all");
    await fleet.discover({ name: "project" });
    await fleet.ask("project");
    await expect(fleet.link("project")?.call("a", {}, {})).rejects.toMatchObject({
      code: "NEEDS_APPROVAL",
      message: 'The server "project" is not connected: Nobody has approved it.',
    });
    await expect(fleet.link("off")?.call("a", {}, {})).rejects.toMatchObject({ code: "CONNECT_FAILED" });
    expect([side.connects, off.connects]).toEqual([0, 0]);
    expect(fleet.statuses()).toMatchObject([
      { status: "needs-approval", reason: "Nobody has approved it." },
      { status: "disconnected", reason: "It is switched off." },
    ]);
  });
});

describe("the snapshot", () => {
  const cache = () => createCache({ onTrouble() {} });

  async function settle(fleet: Fleet): Promise<void> {
    const done = fleet.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await done;
    await fleet.close();
  }

  test("the next fleet has every tool without asking a server, and its handshake is shorter", async () => {
    const shared = cache();
    const first = server("one");
    first.rejected = [{ name: "bad", reason: "it has no name" }];
    await settle((await fleetOf([first], { snapshot: createSnapshot(shared, "c") })).fleet);
    const second = server("one");
    const { fleet, gateway } = await fleetOf([second], { snapshot: createSnapshot(shared, "c") });
    expect(names(gateway)).toEqual(["one:a"]);
    expect(gateway.catalog.server("one")?.title).toBe("The one");
    expect(fleet.status("one")).toMatchObject({
      status: "disconnected",
      info: { name: "one" },
      listing: { rejected: [{ name: "bad", reason: "it has no name" }] },
    });
    await fleet.discover("stale");
    expect(second.connects).toBe(0);
    const { revision } = gateway.catalog;
    const call = fleet.link("one")?.call("a", {}, {});
    await vi.advanceTimersByTimeAsync(1);
    await call;
    expect(second.priors).toEqual([{ connects: 1 }]);
    // What it says now is what was remembered, so nothing has changed.
    expect([second.lists, gateway.catalog.revision]).toEqual([1, revision]);
  });

  test("a changed definition costs its own server its tools, and no other", async () => {
    const shared = cache();
    const sides = [server("one"), server("two")];
    await settle((await fleetOf(sides, { snapshot: createSnapshot(shared, "c") })).fleet);
    const connection = { type: "stdio" as const, command: "another", args: [], env: {} };
    const changed = server("one", { config: { connection } });
    const { fleet, gateway } = await fleetOf([changed, server("two")], {
      snapshot: createSnapshot(shared, "c"),
    });
    expect(names(gateway)).toEqual(["two:a"]);
    expect(fleet.status("one")?.listedAt).toBeUndefined();
  });

  test("the same words in another project mean another server", async () => {
    const shared = cache();
    const inFile = (file: string) =>
      server("one", { config: { origin: { source: "test", scope: "project", file } } });
    await settle((await fleetOf([inFile("/a/.mcp.json")], { snapshot: createSnapshot(shared, "c") })).fleet);
    const other = await fleetOf([inFile("/b/.mcp.json")], { snapshot: createSnapshot(shared, "c") });
    expect(names(other.gateway)).toEqual([]);
    const same = await fleetOf([inFile("/a/.mcp.json")], { snapshot: createSnapshot(shared, "c") });
    expect(names(same.gateway)).toEqual(["one:a"]);
  });

  test("what is held back is not restored", async () => {
    const shared = cache();
    await settle((await fleetOf([server("one")], { snapshot: createSnapshot(shared, "c") })).fleet);
    const held = server("one", { held: { status: "needs-approval", reason: "It was revoked." } });
    const { fleet, gateway } = await fleetOf([held], { snapshot: createSnapshot(shared, "c") });
    expect(names(gateway)).toEqual([]);
    expect(fleet.status("one")).toMatchObject({ status: "needs-approval", listedAt: undefined });
  });

  test("what is old, or from the future, is shown at once and asked for anew", async () => {
    for (const shift of [3_600_000, -60_000]) {
      const shared = cache();
      const now = Date.now();
      await settle((await fleetOf([server("one")], { snapshot: createSnapshot(shared, "c") })).fleet);
      vi.setSystemTime(now + shift);
      const side = server("one");
      side.tools = [tool("new")];
      const { fleet, gateway } = await fleetOf([side], { snapshot: createSnapshot(shared, "c") });
      expect(names(gateway)).toEqual(["one:a"]);
      void fleet.discover("stale");
      await vi.advanceTimersByTimeAsync(1);
      expect(names(gateway)).toEqual(["one:new"]);
    }
  });
});

describe("close", () => {
  test("ends connections, those still being opened too, and lets nobody wait for what is queued", async () => {
    const open = server("open");
    const hanging = Array.from({ length: 8 }, (_, index) => server(`hanging${index}`));
    for (const side of hanging) side.connectMs = 10_000;
    const { fleet, gateway, errors } = await fleetOf([open, ...hanging]);
    const asked = fleet.discover("all");
    const settled = fleet.settled();
    await vi.advanceTimersByTimeAsync(5);
    expect(names(gateway)).toEqual(["open:a"]);
    const before = performance.now();
    await fleet.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    await asked;
    await settled;
    await fleet.settled();
    expect(open.open).toBe(0);
    expect(hanging.reduce((sum, side) => sum + side.connects, 0)).toBe(5);
    expect(hanging.reduce((sum, side) => sum + side.aborted, 0)).toBe(5);
    expect(errors).toEqual([]);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(hanging.reduce((sum, side) => sum + side.connects, 0)).toBe(5);
  });

  test("a list that is being read is abandoned", async () => {
    const side = server("one");
    side.listMs = 60_000;
    const { fleet, errors } = await fleetOf([side]);
    const asked = fleet.discover("all");
    await vi.advanceTimersByTimeAsync(5);
    expect(side.listing).toBe(1);
    await fleet.close();
    await asked;
    expect([side.open, side.listing, errors.length]).toEqual([0, 0, 0]);
  });

  test("a server that waits to be asked again is not asked any more", async () => {
    const side = server("one");
    side.refusal = new GatewayError(CONNECT_FAILED, "Nobody is there.");
    const { fleet } = await fleetOf([side]);
    void fleet.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await fleet.close();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(side.connects).toBe(1);
  });
});
