import fc from "fast-check";
import { createStorage, type Driver } from "unstorage";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Cache } from "../../../core/services/cache.ts";
import { fileStorage } from "../../../plugins/lib/files.ts";
import { type CachedListing, createSnapshot } from "../../../plugins/upstreams/snapshot.ts";
import { createTestCache } from "../../support/services.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 3600 * 1000;

/** Creates the cached listing of a server with one tool. */
function createListing(tool: string, savedAt: number = Date.now()): CachedListing {
  return {
    hash: `hash of ${tool}`,
    savedAt,
    info: { name: "server", title: "Server" },
    listing: {
      tools: [{ name: tool, inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }],
      rejected: [{ name: "bad", reason: "it has no name" }],
      resources: [{ uri: "file:///a" }],
      resourceTemplates: [],
      prompts: [{ name: "greet" }],
    },
    prior: { protocol: "legacy", protocolVersion: "2025-06-18", at: "2026-01-01T00:00:00.000Z" },
  };
}

/** Opens a cache on the same folder, as each start of a gateway does. */
async function createFolder(): Promise<() => Promise<Cache>> {
  const folder = await temporaryFolder();
  return async () => createTestCache({ storage: fileStorage(folder) });
}

describe("the snapshot", () => {
  test("returns the listings of servers unchanged at the next start", async () => {
    const open = await createFolder();
    const [a, b] = [createListing("a"), createListing("b")];
    const snapshot = createSnapshot(await open(), "config");
    snapshot.set("one", a);
    snapshot.set("two", b);
    await snapshot.flush();
    expect(await createSnapshot(await open(), "config").load()).toEqual(
      new Map([
        ["one", a],
        ["two", b],
      ]),
    );
  });

  test("keeps listings of an earlier start for servers that this one has not asked", async () => {
    const open = await createFolder();
    const first = createSnapshot(await open(), "config");
    first.set("one", createListing("a"));
    first.set("two", createListing("b"));
    await first.flush();
    const second = createSnapshot(await open(), "config");
    await second.load();
    second.set("two", createListing("c"));
    await second.flush();
    const found = await createSnapshot(await open(), "config").load();
    expect([...found].map(([name, { hash }]) => [name, hash])).toEqual([
      ["one", "hash of a"],
      ["two", "hash of c"],
    ]);
  });

  test("of two configs, neither sees nor overwrites the other's", async () => {
    const open = await createFolder();
    const [one, two] = [createSnapshot(await open(), "/a.json"), createSnapshot(await open(), "/b.json")];
    one.set("server", createListing("a"));
    two.set("server", createListing("b"));
    await Promise.all([one.flush(), two.flush()]);
    const loadHash = async (owner: string) =>
      (await createSnapshot(await open(), owner).load()).get("server")?.hash;
    expect([await loadHash("/a.json"), await loadHash("/b.json"), await loadHash("/c.json")]).toEqual([
      "hash of a",
      "hash of b",
      undefined,
    ]);
  });

  test("writes once for all that come in within a second", async () => {
    vi.useFakeTimers();
    let writes = 0;
    const cache = { get: async () => undefined, set: async () => void writes++ };
    const snapshot = createSnapshot(cache, "config");
    for (let index = 0; index < 50; index++) snapshot.set(`server ${index}`, createListing("a"));
    await vi.advanceTimersByTimeAsync(999);
    expect(writes).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(writes).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    await snapshot.flush();
    expect(writes).toBe(1);
    snapshot.set("server", createListing("b"));
    await snapshot.flush();
    expect(writes).toBe(2);
  });

  test("writes one after another, so that the last one stays, and a flush waits for all of them", async () => {
    const values = new Map<string, unknown>();
    const release: (() => void)[] = [];
    const driver: Driver = {
      hasItem: (key) => values.has(key),
      getItem: (key) => (values.get(key) ?? null) as null,
      getKeys: () => [...values.keys()],
      setItemRaw: (key: string, value: unknown) =>
        new Promise<void>((resolve) => {
          release.push(() => {
            values.set(key, value);
            resolve();
          });
        }),
    };
    const open = () => createTestCache({ storage: createStorage({ driver }) });
    const snapshot = createSnapshot(open(), "config");
    snapshot.set("server", createListing("old"));
    const first = snapshot.flush();
    await vi.waitFor(() => expect(release).toHaveLength(1));
    snapshot.set("server", createListing("new"));
    let flushed = false;
    const second = snapshot.flush().then(() => {
      flushed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([release.length, flushed]).toEqual([1, false]);
    release[0]?.();
    await first;
    await vi.waitFor(() => expect(release).toHaveLength(2));
    expect(flushed).toBe(false);
    release[1]?.();
    await second;
    expect((await createSnapshot(open(), "config").load()).get("server")?.hash).toBe("hash of new");
  });

  test("drops listings that are older than a month", async () => {
    const open = await createFolder();
    const snapshot = createSnapshot(await open(), "config");
    snapshot.set("gone", createListing("a", Date.now() - 31 * DAY_MS));
    snapshot.set("old", createListing("b", Date.now() - 29 * DAY_MS));
    await snapshot.flush();
    expect([...(await createSnapshot(await open(), "config").load()).keys()]).toEqual(["old"]);
  });

  test("has nothing to do with what is no snapshot, whatever it holds", async () => {
    const good = createListing("a");
    const wrong = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(
        { ...good, hash: 7 },
        { ...good, savedAt: "now" },
        { ...good, info: [] },
        { ...good, listing: { ...good.listing, tools: {} } },
        { ...good, listing: { ...good.listing, tools: ["a"] } },
        { ...good, listing: { ...good.listing, rejected: [{}] } },
        { ...good, listing: undefined },
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.dictionary(fc.string(), wrong), async (all, some) => {
        const load = (stored: unknown) =>
          createSnapshot({ get: async () => stored, set: async () => {} }, "c").load();
        expect((await load(all)).size).toBe(0);
        const found = await load({ ...some, good });
        expect([...found]).toEqual([["good", good]]);
      }),
      { numRuns: 100 },
    );
  });
});
