import fc from "fast-check";
import { createStorage, type Driver } from "unstorage";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Cache, createCache, fileStorage } from "../../../plugins/cache/mod.ts";
import { type CachedListing, createSnapshot } from "../../../plugins/upstreams/snapshot.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 3600 * 1000;

function neverTroubled(cause: unknown): void {
  throw cause;
}

/** What is remembered of a server with one tool. */
function remembered(tool: string, savedAt: number = Date.now()): CachedListing {
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
async function folderOf(): Promise<() => Promise<Cache>> {
  const folder = await temporaryFolder();
  return async () => createCache({ storage: fileStorage(folder), onTrouble: neverTroubled });
}

describe("the snapshot", () => {
  test("gives back at the next start what servers said, to the letter", async () => {
    const open = await folderOf();
    const [a, b] = [remembered("a"), remembered("b")];
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

  test("keeps what another start remembered and this one has not asked", async () => {
    const open = await folderOf();
    const first = createSnapshot(await open(), "config");
    first.set("one", remembered("a"));
    first.set("two", remembered("b"));
    await first.flush();
    const second = createSnapshot(await open(), "config");
    await second.load();
    second.set("two", remembered("c"));
    await second.flush();
    const found = await createSnapshot(await open(), "config").load();
    expect([...found].map(([name, { hash }]) => [name, hash])).toEqual([
      ["one", "hash of a"],
      ["two", "hash of c"],
    ]);
  });

  test("of two configs, neither sees nor overwrites the other's", async () => {
    const open = await folderOf();
    const [one, two] = [createSnapshot(await open(), "/a.json"), createSnapshot(await open(), "/b.json")];
    one.set("server", remembered("a"));
    two.set("server", remembered("b"));
    await Promise.all([one.flush(), two.flush()]);
    const hashOf = async (owner: string) =>
      (await createSnapshot(await open(), owner).load()).get("server")?.hash;
    expect([await hashOf("/a.json"), await hashOf("/b.json"), await hashOf("/c.json")]).toEqual([
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
    for (let index = 0; index < 50; index++) snapshot.set(`server ${index}`, remembered("a"));
    await vi.advanceTimersByTimeAsync(999);
    expect(writes).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(writes).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    await snapshot.flush();
    expect(writes).toBe(1);
    snapshot.set("server", remembered("b"));
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
    const open = () => createCache({ storage: createStorage({ driver }), onTrouble: neverTroubled });
    const snapshot = createSnapshot(open(), "config");
    snapshot.set("server", remembered("old"));
    const first = snapshot.flush();
    await vi.waitFor(() => expect(release).toHaveLength(1));
    snapshot.set("server", remembered("new"));
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

  test("lets go of what nobody has seen for a month", async () => {
    const open = await folderOf();
    const snapshot = createSnapshot(await open(), "config");
    snapshot.set("gone", remembered("a", Date.now() - 31 * DAY_MS));
    snapshot.set("old", remembered("b", Date.now() - 29 * DAY_MS));
    await snapshot.flush();
    expect([...(await createSnapshot(await open(), "config").load()).keys()]).toEqual(["old"]);
  });

  test("has nothing to do with what is no snapshot, whatever it holds", async () => {
    const good = remembered("a");
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
