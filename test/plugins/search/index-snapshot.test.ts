import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import type { Cache } from "../../../core/services/cache.ts";
import type { Embedder, IndexSnapshot, Ranker } from "../../../core/services/search.ts";
import { fileStorage } from "../../../plugins/lib/files.ts";
import { embeddingScorer } from "../../../plugins/search/embedding/ranker.ts";
import { staticEmbedder } from "../../../plugins/search/embedding/static.ts";
import { fusionRanker } from "../../../plugins/search/fusion/ranker.ts";
import { createSnapshotStore, writeBlocks } from "../../../plugins/search/index-snapshot.ts";
import { search } from "../../../plugins/search/mod.ts";
import { tool } from "../../contracts/ranker.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { createTestCache, provideCache } from "../../support/services.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const things = [
  "invoice",
  "contact",
  "calendar",
  "folder",
  "ticket",
  "payment",
  "photo",
  "message",
  "repository",
];
const verbs = ["create", "list", "delete", "search", "update", "export", "archive", "share"];
const queries = [
  "create an invoice",
  "find a message",
  "get rid of a picture",
  "export_payment",
  "qqqq",
  "git",
];

/** The listing of a server: 72 tools of which no two are alike. */
function listing(suffix = ""): { name: string; description: string; inputSchema: { type: string } }[] {
  return things.flatMap((thing) =>
    verbs.map((verb) => ({
      name: `${verb}_${thing}${suffix}`,
      description: `Lets you ${verb} any ${thing}.`,
      inputSchema: { type: "object" },
    })),
  );
}

interface Start {
  readonly gateway: Gateway;
  readonly ranker: Ranker;
  /** How many tools had to be read. */
  readonly fresh: () => number | undefined;
  readonly answers: () => Promise<unknown[]>;
}

/** A start of a gateway whose cache is in this folder. */
async function start(folder: string, servers: Readonly<Record<string, string>>): Promise<Start> {
  const ranker = fusionRanker();
  const gateway = await openGateway({
    plugins: [provideCache(createTestCache({ storage: fileStorage(folder) })), search({ ranker })],
  });
  for (const [id, suffix] of Object.entries(servers)) await gateway.catalog.replace({ id }, listing(suffix));
  return {
    gateway,
    ranker,
    fresh: () => ranker.snapshot?.fresh,
    answers: () =>
      Promise.all(
        queries.map(async (query) => {
          const ranking = await gateway.services.search?.(query);
          return ranking?.hits.map((hit) => [hit.tool.id, hit.relevance]);
        }),
      ),
  };
}

describe("an index snapshot", () => {
  test("is loaded at the next start, which reads nothing and answers the same", async () => {
    const folder = await temporaryFolder();
    const first = await start(folder, { a: "", b: "_too" });
    const answers = await first.answers();
    expect(first.fresh()).toBe(144);
    await first.gateway.close();
    const second = await start(folder, { a: "", b: "_too" });
    expect(await second.answers()).toEqual(answers);
    expect(second.fresh()).toBe(0);
  });

  test("is used only of servers whose tools are the very same; the others are read", async () => {
    const folder = await temporaryFolder();
    const first = await start(folder, { a: "", b: "_too", gone: "_gone" });
    await first.answers();
    await first.gateway.close();
    const second = await start(folder, { b: "_too", a: "_changed", c: "_new" });
    const untouched = await start(await temporaryFolder(), { b: "_too", a: "_changed", c: "_new" });
    expect(await second.answers()).toEqual(await untouched.answers());
    expect([second.fresh(), untouched.fresh()]).toEqual([144, 216]);
  });

  test("is another gateway's where the config is another one", async () => {
    const kept = createTestCache({ storage: fileStorage(await temporaryFolder()) });
    const store = createSnapshotStore(kept, "/a.json", 1);
    store.schedule(createSnapshot(100), 100);
    await store.close();
    expect(await createSnapshotStore(kept, "/a.json").read()).toBeDefined();
    expect(await createSnapshotStore(kept, "/b.json").read()).toBeUndefined();
  });

  test("is not used if it is of another version, and then written again", async () => {
    const folder = await temporaryFolder();
    const storage = fileStorage(folder);
    const owner = process.cwd();
    await storeBytes(createTestCache({ storage }), owner, Uint8Array.of(1, 2, 3));
    const first = await start(folder, { a: "" });
    await first.answers();
    expect(first.fresh()).toBe(72);
    await first.gateway.close();
    const second = await start(folder, { a: "" });
    await second.answers();
    expect(second.fresh()).toBe(0);
  });
});

test.each<[string, (mark: string) => Uint8Array]>([
  ["nothing", () => new Uint8Array(0)],
  ["a header that is none", (mark) => writeBlocks(mark, null, [])],
  ["too few blocks", (mark) => writeBlocks(mark, { terms: "", slots: 1, servers: [["a", "", 0, 5, 5]] }, [])],
  [
    "numbers that lead nowhere",
    (mark) =>
      writeBlocks(mark, { terms: "read", slots: 1, servers: [] }, [
        [],
        [],
        [],
        [],
        [Uint32Array.of(0, 0xffffffff)],
        [Uint32Array.of(1)],
      ]),
  ],
])("an intact snapshot that holds %s fails no search", async (_what, make) => {
  const folder = await temporaryFolder();
  const kept = createTestCache({ storage: fileStorage(folder) });
  const marks = ["toolpipe-keyword-2", "toolpipe-vectors-1"];
  const scorers = writeBlocks(
    "toolpipe-scorers-1",
    ["keyword", "embedding"],
    marks.map((mark) => [make(mark)]),
  );
  for (const bytes of [scorers, make("toolpipe-scorers-1")]) {
    await storeBytes(kept, process.cwd(), bytes);
    const { gateway, answers } = await start(folder, { a: "" });
    const whole = await start(await temporaryFolder(), { a: "" });
    expect(await answers()).toEqual(await whole.answers());
    await gateway.close();
  }
});

describe("the snapshot store", () => {
  test("writes once for all that is searched within a moment, and not before", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { cache: kept, writes } = counting();
    const store = createSnapshotStore(kept, "config");
    for (let round = 0; round < 10; round++) store.schedule(createSnapshot(100), 100);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(writes()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(writes()).toBe(1);
    await store.close();
    expect(writes()).toBe(1);
  });

  test("is none the worse for a ranker that cannot say what it has read", async () => {
    const { cache: kept, writes } = counting();
    const store = createSnapshotStore(kept, "config", 0);
    const broken = (): never => {
      throw new Error("There is nothing to be saved.");
    };
    store.schedule({ ...createSnapshot(100), save: broken }, 100);
    await store.close();
    store.schedule(createSnapshot(100), 100);
    await store.close();
    expect(writes()).toBe(1);
  });

  test("does not write for a few tools, for few new ones among many, or what would fill a disk", async () => {
    const { cache: kept, writes } = counting();
    const store = createSnapshotStore(kept, "config", 0);
    store.schedule(createSnapshot(49), 49);
    store.schedule(createSnapshot(49), 1_000);
    await store.close();
    store.schedule({ ...createSnapshot(100), save: () => ({ length: 2 ** 28 + 1 }) as Uint8Array }, 100);
    await store.close();
    expect(writes()).toBe(0);
    store.schedule(createSnapshot(50), 1_000);
    await store.close();
    expect(writes()).toBe(1);
  });
});

describe("a snapshot of vectors", () => {
  const tools = listing().map(({ name, description }) => tool(`a:${name}`, description));
  /** How many tools an embedder was asked for. */
  const watched = (hash: string): { embedder: Embedder; asked: () => number } => {
    const own = staticEmbedder();
    let count = 0;
    const embedder: Embedder = {
      ...own,
      isSync: true,
      get dimensions() {
        return own.dimensions;
      },
      hash,
      embedTools(list) {
        count += list.length;
        return own.embedTools(list);
      },
    };
    return { embedder, asked: () => count };
  };
  const saved = (): Uint8Array => {
    const scorer = embeddingScorer({ embedder: watched("one").embedder });
    scorer.update("a", tools);
    return (scorer.snapshot as IndexSnapshot).save();
  };

  test("are those that would be made again", async () => {
    const { embedder, asked } = watched("one");
    const scorer = embeddingScorer({ embedder });
    expect(scorer.snapshot?.load(saved())).toBe(true);
    scorer.update("a", tools);
    expect(asked()).toBe(0);
    const made = embeddingScorer({ embedder: watched("one").embedder });
    made.update("a", tools);
    const [kept, anew] = [await scorer.query("remove a photo"), await made.query("remove a photo")];
    expect(kept.best(10)).toEqual(anew.best(10));
    expect(kept.best(10)).not.toEqual([]);
  });

  test("are made again by another embedder, and for other tools", () => {
    const other = watched("two");
    const scorer = embeddingScorer({ embedder: other.embedder });
    scorer.snapshot?.load(saved());
    scorer.update("a", tools);
    expect(other.asked()).toBe(tools.length);

    const same = watched("one");
    const changed = embeddingScorer({ embedder: same.embedder });
    changed.snapshot?.load(saved());
    changed.update("a", tools.slice(1));
    expect(same.asked()).toBe(tools.length - 1);
  });
});

function createSnapshot(fresh: number): IndexSnapshot {
  return { fresh, save: () => Uint8Array.of(1), load: () => true };
}

function counting(): { cache: Cache; writes: () => number } {
  let writes = 0;
  const kept = createTestCache();
  const setBytes = async (): Promise<void> => void writes++;
  return { cache: { ...kept, setBytes }, writes: () => writes };
}

/** Keeps just these bytes, for the config of this owner. */
async function storeBytes(kept: Cache, owner: string, bytes: Uint8Array): Promise<void> {
  const store = createSnapshotStore(kept, owner, 0);
  store.schedule({ ...createSnapshot(100), save: () => bytes }, 100);
  await store.close();
}
