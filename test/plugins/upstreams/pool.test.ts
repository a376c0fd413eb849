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
import {
  CONNECT_FAILED,
  type Held,
  type Listing,
  NEEDS_AUTH,
  UPSTREAM_CLOSED,
  type UpstreamEvents,
} from "../../../core/services/servers.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import type { ConnectServerOptions } from "../../../plugins/upstreams/connect-server.ts";
import { createPool, type PoolOptions, type ServerPool } from "../../../plugins/upstreams/pool.ts";
import { createSnapshot } from "../../../plugins/upstreams/snapshot.ts";
import { createTestCache } from "../../support/services.ts";

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
      async connect({ events, prior, signal }: ConnectServerOptions) {
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

async function openPool(
  sides: readonly Side[],
  { plugins = [], ...parts }: Partial<PoolOptions> & { plugins?: Plugin[] } = {},
): Promise<{ pool: ServerPool; gateway: Gateway; errors: GatewayError[] }> {
  const errors: GatewayError[] = [];
  const listener = { name: "listener", setup: () => ({ error: (e: GatewayError) => void errors.push(e) }) };
  const gateway = await createGateway({ plugins: [...plugins, listener] });
  const members = new Map(sides.map(({ member }) => [member.config.name, member]));
  const getMember = ({ name }: ServerConfig) => members.get(name) as Side["member"];
  const pool = createPool({
    gateway,
    connect: (config, options) => getMember(config).connect(options),
    check: (config) => getMember(config).held,
    snapshot: undefined,
    idleMs: 300_000,
    maxSilentTimeouts: 3,
    maxOpen: 32,
    concurrency: 16,
    maxParallel: 5,
    freshMs: 3_600_000,
    ...parts,
  });
  onTestFinished(async () => {
    vi.useRealTimers();
    await pool.close();
    await gateway.close();
  });
  await pool.start(sides.map(({ member }) => member.config));
  return { pool, gateway, errors };
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
    const { pool, gateway } = await openPool(sides);
    expect(sides.map(({ connects }) => connects)).toEqual([0, 0]);
    expect(gateway.catalog.servers().map(({ id }) => id)).toEqual(["one", "two"]);
    expect(pool.statuses()).toMatchObject([
      { name: "one", status: "disconnected", reason: "It has not been used yet.", listedAt: undefined },
      { name: "two", status: "disconnected", reason: "It has not been used yet.", listedAt: undefined },
    ]);
  });

  test("asks no more than five servers at once, and all of them in the end", async () => {
    const sides = Array.from({ length: 12 }, (_, index) => server(`s${index}`));
    for (const side of sides) side.listMs = 1_000;
    const { pool, gateway } = await openPool(sides);
    let done = false;
    const all = pool.discover("all").then(() => {
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

  test("leaves no more than 32 connections open, beside those that it is asking", async () => {
    const sides = Array.from({ length: 80 }, (_, index) => server(`s${index}`));
    let most = 0;
    const { pool, gateway } = await openPool(sides);
    const count = (): number => sides.reduce((sum, { open }) => sum + open, 0);
    const timer = setInterval(() => {
      most = Math.max(most, count());
    }, 1);
    const done = pool.discover("all");
    await vi.advanceTimersByTimeAsync(60_000);
    await done;
    clearInterval(timer);
    expect(gateway.catalog.servers()).toHaveLength(80);
    expect(most).toBeGreaterThan(30);
    expect(most).toBeLessThanOrEqual(32 + 5);
    expect(count()).toBeLessThanOrEqual(32);
  });

  test("a server that hangs or is dead delays no other", async () => {
    const hanging = Array.from({ length: 4 }, (_, index) => server(`hanging${index}`));
    for (const side of hanging) side.connectMs = 10_000;
    const dead = server("dead");
    dead.refusal = new GatewayError(CONNECT_FAILED, "The server is down.");
    const good = Array.from({ length: 10 }, (_, index) => server(`good${index}`));
    const { pool, gateway } = await openPool([...hanging, dead, ...good]);
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(10);
    expect(gateway.catalog.tools()).toHaveLength(10);
    expect(pool.status("dead")).toMatchObject({ status: "error", reason: "The server is down." });
  });

  test("one that failed waits behind those that did not", async () => {
    const [bad, busy, good] = [server("bad"), server("busy"), server("good")];
    bad.refusal = new GatewayError(CONNECT_FAILED, "The server is down.");
    const { pool, gateway } = await openPool([bad, busy, good], { maxParallel: 1 });
    await Promise.all([pool.discover({ name: "bad" }), vi.advanceTimersByTimeAsync(1)]);
    bad.connectMs = 10_000;
    busy.listMs = 5_000;
    void pool.discover({ name: "busy" });
    await vi.advanceTimersByTimeAsync(2_000);
    // By now the bad one is in line for its second try.
    void pool.discover({ name: "good" });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(names(gateway)).toEqual(["busy:a", "good:a"]);
    expect(bad.connects).toBe(2);
  });

  test("asks servers without a listing, those with an old one, one, or all", async () => {
    const sides = [server("one"), server("two"), server("three")];
    const { pool } = await openPool(sides);
    const lists = () => sides.map((side) => side.lists);
    const discover = async (which: Parameters<ServerPool["discover"]>[0]) => {
      const done = pool.discover(which);
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

  test("a server that a call waits for is asked at once, even if others before it hang, and once for all calls", async () => {
    const hanging = server("hanging");
    hanging.connectMs = 10_000;
    const side = server("one");
    side.listMs = 100;
    const { pool, gateway } = await openPool([hanging, side], { maxParallel: 1 });
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(10);
    expect(side.connects).toBe(0);
    const asked = Promise.all([pool.list("one"), pool.list("one"), pool.list("none")]);
    await vi.advanceTimersByTimeAsync(110);
    await asked;
    expect(names(gateway)).toEqual(["one:a"]);
    expect([side.connects, side.lists]).toEqual([1, 1]);
  });

  test("a server is asked again after a failure that may pass, from each second to each minute", async () => {
    const side = server("late");
    side.refusal = new GatewayError(CONNECT_FAILED, "The server is down.");
    const { pool, gateway, errors } = await openPool([side]);
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    const early = side.connects;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(early).toBeGreaterThan(10);
    expect(side.connects - early).toBeGreaterThanOrEqual(6);
    // Never more than one a minute, once it has gone on for a while.
    expect(side.connects - early).toBeLessThanOrEqual(10);
    expect(errors.map(({ message }) => message)).toEqual(['The server "late": The server is down.']);
    side.refusal = undefined;
    await vi.advanceTimersByTimeAsync(90_000);
    expect(names(gateway)).toEqual(["late:a"]);
    expect(pool.status("late")).toMatchObject({ status: "connected", reason: "It is connected." });
    const { connects } = side;
    await vi.advanceTimersByTimeAsync(200_000);
    expect(side.connects).toBe(connects);
  });

  test("a server is not asked again after a failure that only the user can fix", async () => {
    const side = server("locked");
    side.refusal = new GatewayError(NEEDS_AUTH, "It wants a login.");
    const { pool } = await openPool([side]);
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(side.connects).toBe(1);
    expect(pool.status("locked")).toMatchObject({ status: "needs-auth", reason: "It wants a login." });
  });

  test("a server that can be reached but not listed is in error, and calls still go through", async () => {
    const side = server("odd");
    side.broken = new GatewayError(CONNECT_FAILED, "It has no list.");
    const { pool } = await openPool([side]);
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    expect(pool.status("odd")).toMatchObject({ status: "error", reason: "It has no list." });
    expect(await pool.connection("odd")?.call("x", {}, {})).toEqual(textResult("x"));
    side.broken = undefined;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(pool.status("odd")?.status).toBe("connected");
  });
});

describe("changes", () => {
  async function connectedPool(sides: readonly Side[], parts: Partial<PoolOptions> = {}) {
    const made = await openPool(sides, parts);
    const done = made.pool.discover("all");
    await vi.advanceTimersByTimeAsync(2_000);
    await done;
    return made;
  }

  test("a server that says its lists have changed is read again, and no other", async () => {
    const [one, two] = [server("one"), server("two")];
    const { gateway } = await connectedPool([one, two]);
    one.tools = [tool("a"), tool("b")];
    one.events.onListChanged?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(names(gateway)).toEqual(["one:a", "one:b", "two:a"]);
    expect([one.lists, two.lists]).toEqual([2, 1]);
    expect([one.connects, two.connects]).toEqual([1, 1]);
  });

  test("a change that comes while the lists are being read is not missed", async () => {
    const side = server("one");
    const { gateway } = await connectedPool([side]);
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
    await connectedPool([side]);
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
    const { pool, gateway } = await connectedPool([side]);
    const { revision } = gateway.catalog;
    const again = async () => {
      const done = pool.discover("all");
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
    const { pool, gateway } = await connectedPool([side]);
    side.events.onClosed?.("its process was ended by SIGKILL");
    expect(pool.status("one")).toMatchObject({
      status: "disconnected",
      reason: "Its process was ended by SIGKILL. It is opened again when it is needed.",
    });
    side.tools = [tool("new")];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(side.connects).toBe(1);
    const call = pool.connection("one")?.call("a", {}, {});
    await vi.advanceTimersByTimeAsync(1);
    expect(await call).toEqual(textResult("a"));
    expect([side.connects, side.lists]).toEqual([2, 2]);
    expect(names(gateway)).toEqual(["one:new"]);
    expect(side.priors).toEqual([undefined, { connects: 1 }]);
  });

  test("closes an idle connection, and reports it in the status", async () => {
    const side = server("one");
    const { pool, gateway } = await connectedPool([side], { idleMs: 10_000 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(side.open).toBe(0);
    expect(pool.status("one")).toMatchObject({
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
    const { pool, gateway } = await openPool([side]);
    const rejected = () => pool.status("one")?.listing?.rejected;
    for (let round = 0; round < 2; round++) {
      const done = pool.discover("all");
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
    const done = pool.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(rejected()).toEqual([]);
  });

  test("a server with a name the gateway needs is in error, is never connected, and the others go on", async () => {
    const own = localTools("own", { id: "mine", builtin: true }, [
      { ...tool("t"), run: () => textResult("mine") },
    ]);
    const [taken, impossible, good] = [server("mine"), server("a:b"), server("good")];
    const { pool, gateway, errors } = await openPool([taken, impossible, good], { plugins: [own] });
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(600_000);
    expect(names(gateway)).toEqual(["good:a"]);
    expect(pool.status("mine")).toMatchObject({
      status: "error",
      reason: 'The server id "mine" is taken by the gateway itself. Give the server another name.',
    });
    expect(pool.status("a:b")?.status).toBe("error");
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
    const { pool, gateway, errors } = await openPool([side], { plugins: [enricher] });
    const ask = async () => {
      const done = pool.discover("all");
      await vi.advanceTimersByTimeAsync(1);
      await done;
    };
    await ask();
    expect(pool.status("one")).toMatchObject({
      status: "error",
      reason: 'The plugin "enricher" failed in its "tool:discover" hook.',
    });
    expect(errors).toHaveLength(1);
    failing = false;
    await ask();
    expect(pool.status("one")?.status).toBe("connected");
    expect(names(gateway)).toEqual(["one:a"]);
  });

  test("a server that is held back is not connected for any caller, and gives the reason", async () => {
    const side = server("project", { held: { status: "needs-approval", reason: "It is not approved." } });
    const off = server("off", { held: { status: "disconnected", reason: "It is switched off." } });
    const { pool } = await openPool([side, off]);
    await pool.discover("all");
    await pool.discover({ name: "project" });
    await pool.list("project");
    await expect(pool.connection("project")?.call("a", {}, {})).rejects.toMatchObject({
      code: "NEEDS_APPROVAL",
      message: 'The server "project" is not connected: It is not approved.',
    });
    await expect(pool.connection("off")?.call("a", {}, {})).rejects.toMatchObject({ code: "CONNECT_FAILED" });
    expect([side.connects, off.connects]).toEqual([0, 0]);
    expect(pool.statuses()).toMatchObject([
      { status: "needs-approval", reason: "It is not approved." },
      { status: "disconnected", reason: "It is switched off." },
    ]);
  });
});

describe("the snapshot", () => {
  const cache = () => createTestCache();

  async function settle(pool: ServerPool): Promise<void> {
    const done = pool.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await done;
    await pool.close();
  }

  test("the next pool has every tool without asking a server, and its handshake is shorter", async () => {
    const shared = cache();
    const first = server("one");
    first.rejected = [{ name: "bad", reason: "it has no name" }];
    await settle((await openPool([first], { snapshot: createSnapshot(shared, "c") })).pool);
    const second = server("one");
    const { pool, gateway } = await openPool([second], { snapshot: createSnapshot(shared, "c") });
    expect(names(gateway)).toEqual(["one:a"]);
    expect(gateway.catalog.server("one")?.title).toBe("The one");
    expect(pool.status("one")).toMatchObject({
      status: "disconnected",
      info: { name: "one" },
      listing: { rejected: [{ name: "bad", reason: "it has no name" }] },
    });
    await pool.discover("stale");
    expect(second.connects).toBe(0);
    const { revision } = gateway.catalog;
    const call = pool.connection("one")?.call("a", {}, {});
    await vi.advanceTimersByTimeAsync(1);
    await call;
    expect(second.priors).toEqual([{ connects: 1 }]);
    // Its answer equals the cached listing, so nothing has changed.
    expect([second.lists, gateway.catalog.revision]).toEqual([1, revision]);
  });

  test("a changed definition costs its own server its tools, and no other", async () => {
    const shared = cache();
    const sides = [server("one"), server("two")];
    await settle((await openPool(sides, { snapshot: createSnapshot(shared, "c") })).pool);
    const connection = { type: "stdio" as const, command: "another", args: [], env: {} };
    const changed = server("one", { config: { connection } });
    const { pool, gateway } = await openPool([changed, server("two")], {
      snapshot: createSnapshot(shared, "c"),
    });
    expect(names(gateway)).toEqual(["two:a"]);
    expect(pool.status("one")?.listedAt).toBeUndefined();
  });

  test("the same words in another project mean another server", async () => {
    const shared = cache();
    const inFile = (file: string) =>
      server("one", { config: { origin: { source: "test", scope: "project", file } } });
    await settle((await openPool([inFile("/a/.mcp.json")], { snapshot: createSnapshot(shared, "c") })).pool);
    const other = await openPool([inFile("/b/.mcp.json")], { snapshot: createSnapshot(shared, "c") });
    expect(names(other.gateway)).toEqual([]);
    const same = await openPool([inFile("/a/.mcp.json")], { snapshot: createSnapshot(shared, "c") });
    expect(names(same.gateway)).toEqual(["one:a"]);
  });

  test("a held server is not restored", async () => {
    const shared = cache();
    await settle((await openPool([server("one")], { snapshot: createSnapshot(shared, "c") })).pool);
    const held = server("one", { held: { status: "needs-approval", reason: "It was revoked." } });
    const { pool, gateway } = await openPool([held], { snapshot: createSnapshot(shared, "c") });
    expect(names(gateway)).toEqual([]);
    expect(pool.status("one")).toMatchObject({ status: "needs-approval", listedAt: undefined });
  });

  test("a listing that is old, or from the future, is served at once and refreshed", async () => {
    for (const shift of [3_600_000, -60_000]) {
      const shared = cache();
      const now = Date.now();
      await settle((await openPool([server("one")], { snapshot: createSnapshot(shared, "c") })).pool);
      vi.setSystemTime(now + shift);
      const side = server("one");
      side.tools = [tool("new")];
      const { pool, gateway } = await openPool([side], { snapshot: createSnapshot(shared, "c") });
      expect(names(gateway)).toEqual(["one:a"]);
      void pool.discover("stale");
      await vi.advanceTimersByTimeAsync(1);
      expect(names(gateway)).toEqual(["one:new"]);
    }
  });
});

describe("a handle", () => {
  const listed = async (handle: { list(): Promise<Listing> }) =>
    (await handle.list()).tools.map(({ name }) => name);

  test("of a connected server uses its connection and leaves it open", async () => {
    const side = server("one");
    const { pool } = await openPool([side]);
    const done = pool.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await done;
    const handle = await pool.open(side.member.config);
    expect([handle.info.title, await listed(handle)]).toEqual(["The one", ["a"]]);
    expect(await handle.call("x", {})).toEqual(textResult("x"));
    await handle.close();
    expect([side.connects, side.open]).toEqual([1, 1]);
  });

  test("of a server that is not connected ends with its own connection, and the pool keeps the listing", async () => {
    const shared = createTestCache();
    const side = server("one");
    const { pool, gateway } = await openPool([side], { snapshot: createSnapshot(shared, "c") });
    const opening = pool.open(side.member.config);
    await vi.advanceTimersByTimeAsync(1);
    const handle = await opening;
    expect(await listed(handle)).toEqual(["a"]);
    await handle.close();
    expect([side.connects, side.open]).toEqual([1, 0]);
    expect(names(gateway)).toEqual(["one:a"]);
    expect(pool.status("one")).toMatchObject({ status: "disconnected", info: { name: "one" } });
    await pool.close();
    const next = await openPool([server("one")], { snapshot: createSnapshot(shared, "c") });
    expect(names(next.gateway)).toEqual(["one:a"]);
  });

  test.each([
    ["with headers of the caller", {}, { headers: { Authorization: "Bearer other" } }],
    ["of another definition of the same name", { args: ["other"] }, {}],
  ])("%s is a temporary one, and its listing is not the gateway's", async (_, change, options) => {
    const side = server("one");
    const { pool, gateway } = await openPool([side]);
    const { config } = side.member;
    const opening = pool.open({ ...config, connection: { ...config.connection, ...change } }, options);
    await vi.advanceTimersByTimeAsync(1);
    const handle = await opening;
    expect(await listed(handle)).toEqual(["a"]);
    await handle.close();
    expect(side.open).toBe(0);
    expect(names(gateway)).toEqual([]);
  });
});

describe("close", () => {
  test("ends connections, those still being opened too, and leaves no caller waiting in the queue", async () => {
    const open = server("open");
    const hanging = Array.from({ length: 8 }, (_, index) => server(`hanging${index}`));
    for (const side of hanging) side.connectMs = 10_000;
    const { pool, gateway, errors } = await openPool([open, ...hanging]);
    const asked = pool.discover("all");
    const settled = pool.settled();
    await vi.advanceTimersByTimeAsync(5);
    expect(names(gateway)).toEqual(["open:a"]);
    const before = performance.now();
    await pool.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    await asked;
    await settled;
    await pool.settled();
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
    const { pool, errors } = await openPool([side]);
    const asked = pool.discover("all");
    await vi.advanceTimersByTimeAsync(5);
    expect(side.listing).toBe(1);
    await pool.close();
    await asked;
    expect([side.open, side.listing, errors.length]).toEqual([0, 0, 0]);
  });

  test("a server that waits to be asked again is not asked any more", async () => {
    const side = server("one");
    side.refusal = new GatewayError(CONNECT_FAILED, "The server is down.");
    const { pool } = await openPool([side]);
    void pool.discover("all");
    await vi.advanceTimersByTimeAsync(1);
    await pool.close();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(side.connects).toBe(1);
  });
});
