import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CachingLayer, type ServerMetadata } from "toolpipe/anygpt";
import { expect, vi } from "vitest";
import { until } from "../../support/until.ts";
import type { Specification } from "../specification.ts";
import { findTypeFaults } from "./types.ts";
import { changingServer, openEngine, toNames, tool, world } from "./world.ts";

const HOUR_MS = 3_600_000;
const servers: ServerMetadata[] = [];
const tools = [tool("create_issue")];

/** Runs something some time later, by the clock of the cache. */
function later<T>(ms: number, look: () => T): T {
  const now = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(now + ms);
  try {
    return look();
  } finally {
    clock.mockRestore();
  }
}

/** A cache that holds one value of each kind. */
function createFull(ttl = 3_600): CachingLayer {
  const cache = new CachingLayer();
  cache.cacheServerList(servers, ttl);
  cache.cacheToolSummaries("github", tools, ttl);
  cache.cacheToolSummaries("jira", [], 2 * ttl);
  cache.cacheToolDetails("github", "create_issue", tool("create_issue"));
  return cache;
}

/** Whether a file of the cache holds a text. */
function hasCached(text: string): boolean {
  const folder = join(world.state, "cache");
  if (!existsSync(folder)) return false;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.some(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8").includes(text));
}

/** Lines 189 to 231: the cache. Lines 590 to 607: its tasks. */
export function cacheRows({ row, differs, added, prose }: Specification): void {
  prose(189, 193, 199, 225, 590, 592, 594, 602);

  row(
    "191, 206, 595",
    "CachingLayer keeps lists of servers, tools of each server, and details of each tool.",
    async () => {
      expect(await findTypeFaults("CachingLayer")).toEqual([]);
      const cache = createFull();
      expect(cache.getServerList()).toBe(servers);
      expect(cache.getToolSummaries("github")).toBe(tools);
      expect(cache.getToolDetails("github", "create_issue")).toEqual(tool("create_issue"));
    },
  );

  row("194, 207-209, 596, 603", "The list of servers is there for its time, and null after it.", () => {
    const cache = createFull(60);
    expect(later(59_000, () => cache.getServerList())).toBe(servers);
    expect(later(61_000, () => cache.getServerList())).toBeNull();
    expect(new CachingLayer().getServerList()).toBeNull();
  });
  row("195, 211-213, 597, 604", "Tools are cached by server, each list for its own time.", () => {
    const cache = createFull(60);
    expect(later(61_000, () => cache.getToolSummaries("github"))).toBeNull();
    expect(later(61_000, () => cache.getToolSummaries("jira"))).toEqual([]);
    expect(later(121_000, () => cache.getToolSummaries("jira"))).toBeNull();
    expect(cache.getToolSummaries("nowhere")).toBeNull();
  });
  row("196, 215-217, 598, 605", "Details stay whatever the time, until they are invalidated.", () => {
    const cache = createFull();
    expect(later(1_000 * HOUR_MS, () => cache.getToolDetails("github", "create_issue"))).not.toBeNull();
    expect(cache.getToolDetails("github", "nothing")).toBeNull();
    expect(cache.getToolDetails("jira", "create_issue")).toBeNull();
    cache.invalidate("github");
    expect(cache.getToolDetails("github", "create_issue")).toBeNull();
  });
  row("197, 219-222, 599, 606", "One entry is invalidated by its key, or all at once.", () => {
    const cache = createFull();
    cache.invalidate("servers");
    expect([cache.getServerList(), cache.getToolSummaries("github")]).toEqual([null, tools]);
    cache.invalidate("github");
    expect([cache.getToolSummaries("github"), cache.getToolSummaries("jira")]).toEqual([null, []]);
    for (const drop of [
      (full: CachingLayer) => full.invalidate(),
      (full: CachingLayer) => full.invalidateAll(),
    ]) {
      const full = createFull();
      drop(full);
      expect(full.getServerList()).toBeNull();
      expect(full.getToolSummaries("jira")).toBeNull();
      expect(full.getToolDetails("github", "create_issue")).toBeNull();
    }
  });

  row("201-204", "The cache of a config is on or off, and has a time in seconds.", async () => {
    expect(await findTypeFaults("CacheConfig")).toEqual([]);
    const off = new CachingLayer({ enabled: false, ttl: 3_600 });
    off.cacheToolSummaries("github", tools, 3_600);
    expect(off.getToolSummaries("github")).toBeNull();
    const short = new CachingLayer({ enabled: true, ttl: 60 });
    (short.cacheServerList as (list: ServerMetadata[]) => void)(servers);
    expect(later(59_000, () => short.getServerList())).toBe(servers);
    expect(later(61_000, () => short.getServerList())).toBeNull();
  });

  row("226-227, 229", "Lists that are given no time are cached for an hour.", () => {
    const cache = new CachingLayer();
    cache.cacheServerList(servers);
    cache.cacheToolSummaries("github", tools);
    expect(later(HOUR_MS - 1_000, () => [cache.getServerList(), cache.getToolSummaries("github")])).toEqual([
      servers,
      tools,
    ]);
    expect(later(HOUR_MS + 1_000, () => [cache.getServerList(), cache.getToolSummaries("github")])).toEqual([
      null,
      null,
    ]);
  });

  row(
    "195, 227",
    "An engine lists a server again when the time of the cache is over, and not before.",
    async () => {
      const { entry, change, count } = await changingServer("timed");
      const engine = openEngine({ enabled: true, cache: { enabled: true, ttl: 3_600 }, servers: [entry] });
      expect(toNames(await engine.listTools("timed"))).toEqual(["first"]);
      await change("second");
      expect(toNames(await engine.listTools("timed"))).toEqual(["first"]);
      expect(await count()).toBe(1);

      const brief = openEngine({ enabled: true, cache: { enabled: true, ttl: 0.01 }, servers: [entry] });
      await brief.listTools("timed");
      await change("third");
      await until(async () => toNames(await brief.listTools("timed")).includes("third"), 20_000);
    },
  );

  row("228", "An engine has the details of a tool until it is reloaded.", async () => {
    const { entry, change, count } = await changingServer("detailed");
    await change("original");
    const engine = openEngine({ enabled: true, servers: [entry] });
    for (let turn = 0; turn < 5; turn++)
      expect(await engine.getToolDetails("detailed", "original")).toMatchObject({
        description: "Does original",
      });
    expect(await count()).toBe(1);
    // Now the listing is cached for the next start too, which a reload is not.
    await until(() => hasCached("Does original"), 20_000);
    await change("replacement");
    await engine.reload();
    expect(await engine.getToolDetails("detailed", "original")).toBeNull();
    expect(await engine.getToolDetails("detailed", "replacement")).toMatchObject({
      description: "Does replacement",
    });
  });

  const always =
    "The engine reads its servers from the config when it is opened or reloaded, and counts and statuses are those of the moment: a copy of an hour ago would only be wrong.";
  differs("194, 226", "An engine caches its list of servers for an hour.", always, async () => {
    const { entry, change } = await changingServer("counted");
    const engine = openEngine({ enabled: true, cache: { enabled: true, ttl: 0.01 }, servers: [entry] });
    expect(await engine.listServers()).toMatchObject([{ name: "counted", toolCount: 1 }]);
    await change("first", "second");
    await until(async () => (await engine.listTools("counted")).length === 2, 20_000);
    expect(await engine.listServers()).toMatchObject([{ toolCount: 2 }]);
  });

  row("229, 231, 600, 607", "What is older than its time is removed, and can be cached anew.", () => {
    const cache = createFull(60);
    later(61_000, () => {
      expect(cache.getServerList()).toBeNull();
      cache.cacheServerList(servers, 60);
      expect(cache.getServerList()).toBe(servers);
    });
    expect(later(90_000, () => cache.getServerList())).toBe(servers);
  });

  added(
    "229-231",
    "Beyond 10,000 entries the one that was used least recently goes first.",
    "Without a limit, the details of tools that nothing asks for any more would stay for ever.",
    () => {
      const cache = new CachingLayer();
      for (let index = 0; index < 10_001; index++) {
        cache.cacheToolDetails("github", `tool_${index}`, tool(`tool_${index}`));
        cache.getToolDetails("github", "tool_0");
      }
      expect(cache.getToolDetails("github", "tool_0")).not.toBeNull();
      expect(cache.getToolDetails("github", "tool_1")).toBeNull();
      expect(cache.getToolDetails("github", "tool_10000")).not.toBeNull();
    },
  );
  added("204, 208", "A time of 0 caches nothing.", "The line does not say what 0 means.", () => {
    const cache = createFull();
    cache.cacheServerList(servers, 0);
    expect(cache.getServerList()).toBeNull();
    expect(world.engine.getConfig().cache).toEqual({ enabled: true, ttl: 3_600 });
  });
}
