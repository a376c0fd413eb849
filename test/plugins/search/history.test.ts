import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { digestOf } from "../../../plugins/search/history/digest.ts";
import { keptUses, type Limits, type Use } from "../../../plugins/search/history/uses.ts";
import {
  forgetHistory,
  forgetTool,
  historyStore,
  type Memory,
  withHistory,
} from "../../../plugins/search/history.ts";
import { keywordRanker, type Ranker, simpleRanker } from "../../../plugins/search/mod.ts";
import { fileStore, memoryStore, type StateStore } from "../../../plugins/state/mod.ts";
import { temporaryFolder } from "../../_helpers/temporary-folder.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

const DAY = 86_400_000;

afterEach(() => {
  vi.useRealTimers();
});

/** Lets the days pass. */
function setDay(day: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: day * DAY + 1 });
}

function remembering(boosts: Readonly<Record<string, number>>): Memory {
  return { recall: () => new Map(Object.entries(boosts)) };
}

const used = { "jira:create_ticket": 0.9, "files:write_file": 0.5, "gone:tool": 0.9, "s:file_20": 0.8 };
testRanker("keyword with an empty history", () => withHistory(keywordRanker(), remembering({})));
testRanker("keyword with a history", () => withHistory(keywordRanker(), remembering(used)));
testRanker("simple with a history", () => withHistory(simpleRanker(), remembering(used)));

const catalog: readonly Tool[] = [
  tool("github:create_issue", "Creates an issue in a repository."),
  tool("github:list_issues", "Lists the issues of a repository."),
  tool("jira:create_ticket", "Creates a ticket for an issue in a project."),
  tool("files:read_file", "Reads a file."),
  tool("mail:send", "Sends a mail about an issue."),
];

function filled(ranker: Ranker): Ranker {
  take(ranker, catalog);
  return ranker;
}

async function ids(ranker: Ranker, query: string, options = {}): Promise<string[]> {
  return (await ranker.rank(query, options)).hits.map((hit) => hit.tool.id);
}

describe("a tool that like queries led to", () => {
  test("comes sooner, and its relevance says so", async () => {
    const [plain, raised] = [
      filled(keywordRanker()),
      filled(withHistory(keywordRanker(), remembering({ "mail:send": 0.7 }))),
    ];
    expect((await ids(plain, "about issue create"))[0]).not.toBe("mail:send");
    const before = (await plain.rank("about issue create")).hits;
    const after = (await raised.rank("about issue create", { explain: true })).hits;
    const [first] = after;
    expect(first?.tool.id).toBe("mail:send");
    const own = before.find((hit) => hit.tool.id === "mail:send")?.relevance ?? Number.NaN;
    expect(first?.relevance).toBeGreaterThan(own);
    expect(first?.why?.shares["history"]).toBeCloseTo((first?.relevance ?? 0) - own, 10);
    expect(first?.why?.shares["keyword"]).toBeGreaterThan(0);
    for (const hit of after.slice(1)) expect(hit.why?.shares["history"]).toBe(0);
    expect(after.slice(1).map((hit) => hit.tool.id)).toEqual(
      before.map((hit) => hit.tool.id).filter((id) => id !== "mail:send"),
    );
  });

  test("is found below the limit", async () => {
    const many = Array.from({ length: 40 }, (_, index) => tool(`s:file_${index}`, "Reads a file."));
    const ranker = withHistory(keywordRanker(), remembering({ "s:file_7": 0.5 }));
    take(ranker, many);
    expect(await ids(ranker, "reads", { limit: 1 })).toEqual(["s:file_7"]);
  });

  test("does not come before the one whose very name is asked for", async () => {
    const everything = Object.fromEntries(catalog.map(({ id }) => [id, 0.999_999]));
    for (const make of [keywordRanker, simpleRanker]) {
      for (const { id, name } of catalog) {
        const { [id]: _, ...others } = everything;
        const ranker = filled(withHistory(make(), remembering(others)));
        // The formula of the specification looks for the query as it stands.
        const spellings = make === simpleRanker ? [] : [name.replaceAll("_", " "), id];
        for (const query of [name, name.toUpperCase(), ...spellings])
          expect([query, (await ids(ranker, query))[0]]).toEqual([query, id]);
      }
    }
  });

  test("does not come back once it is gone or switched off", async () => {
    const ranker = filled(withHistory(keywordRanker(), remembering({ "mail:send": 0.9, "no:tool": 0.9 })));
    ranker.update("mail", []);
    expect(await ids(ranker, "mail about issue")).not.toContain("mail:send");
    expect(await ids(ranker, "no tool")).not.toContain("no:tool");
  });

  test("is found where it only came close, and nothing else fits", async () => {
    const close: Ranker = {
      name: "close",
      update() {},
      rank: () => ({ hits: [], nearest: catalog.slice(0, 3) }),
    };
    const ranker = withHistory(close, remembering({ "github:list_issues": 0.6, "mail:send": 0.9 }));
    const { hits, nearest } = await ranker.rank("what is open", { explain: true });
    expect(hits.map((hit) => hit.tool.id)).toEqual(["github:list_issues"]);
    expect(hits[0]?.why?.shares).toEqual({ history: expect.any(Number) });
    expect(nearest).toEqual([]);
    const other = withHistory(close, remembering({ "mail:send": 0.9 }));
    expect(await other.rank("what is open")).toEqual({ hits: [], nearest: catalog.slice(0, 3) });
  });

  test("leaves relevances in order, between 0 and 1, and certainty to the ranker", async () => {
    const relevance = fc.oneof(
      fc.constantFrom(1, 1 - Number.EPSILON, Number.MIN_VALUE, 1e-300),
      fc.double({ min: 1e-9, max: 1, noNaN: true }),
    );
    const boost = fc.oneof(fc.constant(0), fc.double({ min: 0.001, max: 0.999, noNaN: true }));
    const rows = fc.array(fc.tuple(relevance, boost), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(rows, fc.integer({ min: 1, max: 25 }), async (given, limit) => {
        const hits = given
          .map(([value], at) => ({ tool: tool(`s:t${at}`), relevance: value }))
          .sort((a, b) => b.relevance - a.relevance);
        const boosts = Object.fromEntries(
          given.flatMap(([, raise], at) => (raise > 0 ? [[`s:t${at}`, raise]] : [])),
        );
        const inner: Ranker = { name: "given", update() {}, rank: () => ({ hits, nearest: [] }) };
        const ranked = (await withHistory(inner, remembering(boosts)).rank("words", { limit })).hits;
        const values = ranked.map((hit) => hit.relevance);
        expect(values).toEqual(values.toSorted((a, b) => b - a));
        expect(new Set(ranked.map((hit) => hit.tool)).size).toBe(ranked.length);
        for (const { tool: found, relevance: now } of ranked) {
          const before = hits.find((hit) => hit.tool === found)?.relevance ?? Number.NaN;
          expect(now).toBeGreaterThanOrEqual(before);
          expect(now === 1).toBe(before === 1);
          if (!(found.id in boosts)) expect(now).toBe(before);
        }
        // Those that are not raised keep their order among themselves.
        const plain = ranked.filter((hit) => !(hit.tool.id in boosts));
        expect(plain.map((hit) => hit.tool)).toEqual(
          hits.filter((hit) => plain.some((one) => one.tool === hit.tool)).map((hit) => hit.tool),
        );
      }),
    );
  });
});

describe("what is remembered", () => {
  async function boosts(store: StateStore, query: string, actor = "ann"): Promise<Record<string, number>> {
    return Object.fromEntries(await historyStore(store).recall(actor, query));
  }
  const remember = (store: StateStore, query: string, id: string, actor = "ann"): Promise<void> =>
    historyStore(store).remember(actor, digestOf(actor, query), id);

  test.each<[query: string, counts: boolean]>([
    ["open a ticket for the printer", true],
    ["Opening TICKETS: printer!", true],
    ["please open a ticket about my printers", true],
    ["open ticket for printer 4711", true],
    ["show the open ticket of the printer", true],
    ["open the printer", true],
    ["printer", false],
    ["close a ticket for the scanner", false],
    ["what is the weather", false],
    ["", false],
    ["the of and", false],
  ])("counts for %j: %j, where the query was about opening a ticket for a printer", async (query, counts) => {
    const store = memoryStore();
    await remember(store, "open a ticket for the printer", "jira:create_ticket");
    const found = await boosts(store, query);
    expect(Object.keys(found)).toEqual(counts ? ["jira:create_ticket"] : []);
  });

  test("counts the more, the liker the queries are", async () => {
    const store = memoryStore();
    await remember(store, "open a ticket for the printer", "jira:create_ticket");
    const [same, like] = [
      await boosts(store, "open ticket printer"),
      await boosts(store, "open ticket printer office"),
    ];
    expect(same["jira:create_ticket"]).toBeGreaterThan(like["jira:create_ticket"] ?? Number.NaN);
  });

  test("counts once a day, more after more days, and less as they pass", async () => {
    const store = memoryStore();
    setDay(20_000);
    const now = async (): Promise<number> => (await boosts(store, "send mail"))["mail:send"] ?? 0;
    await remember(store, "send mail", "mail:send");
    const once = await now();
    expect(once).toBeGreaterThan(0);
    for (let times = 0; times < 5; times++) await remember(store, "send mail", "mail:send");
    expect(await now()).toBe(once);
    setDay(20_001);
    expect(await now()).toBeLessThan(once);
    await remember(store, "send mail", "mail:send");
    const twice = await now();
    expect(twice).toBeGreaterThan(once);
    for (let day = 20_002; day < 20_060; day++) {
      setDay(day);
      await remember(store, "send mail", "mail:send");
    }
    const often = await now();
    expect(often).toBeGreaterThan(twice);
    expect(often).toBeLessThan(1);
    setDay(20_090);
    const later = await now();
    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(often);
    setDay(20_059 + 91);
    expect(await now()).toBe(0);
  });

  test("is one actor's own: whatever others do, nobody finds anything else", async () => {
    const name = fc.constantFrom("ann", "bob", "", "history/", "__proto__", "local", "ann ", "ﬁ", "fi");
    const queries = ["send mail", "open ticket", "read file"];
    const step = fc.tuple(name, fc.constantFrom(...queries), fc.constantFrom("a:x", "b:y"));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), name, async (steps, actor) => {
        const [shared, alone] = [memoryStore(), memoryStore()];
        for (const [who, query, id] of steps) {
          await remember(shared, query, id, who);
          if (who === actor) await remember(alone, query, id, who);
        }
        for (const query of queries)
          expect(await boosts(shared, query, actor)).toEqual(await boosts(alone, query, actor));
      }),
      { numRuns: 40 },
    );
  });

  test("does not hold a word of the query, nor the name of the actor", async () => {
    const folder = await temporaryFolder();
    const query = "mail hunter2 to Zacharias, sk-proj-abcdefghijklmnop";
    await remember(fileStore(folder), query, "mail:send", "zoe@example.com");
    const text = await everythingIn(folder);
    expect(text).toContain("mail:send");
    for (const word of ["hunter2", "achar", "proj", "abcdef", "zoe", "example"])
      expect(text.toLowerCase()).not.toContain(word);
  });

  test("is bounded, whatever is done", async () => {
    const store = memoryStore();
    setDay(20_000);
    const history = historyStore(store, { uses: 30, days: 10 });
    for (let at = 0; at < 60; at++) {
      setDay(20_000 + Math.floor(at / 10));
      await history.remember("ann", digestOf("ann", `query ${"abcdefghij"[at % 10]}bcd`), `s:tool${at}`);
    }
    const [entry] = await store.list("history/");
    const uses = entry?.value["uses"] as string[];
    expect(uses).toHaveLength(30);
    // The oldest went first.
    expect(uses.every((use) => Number(use.split(" ")[0]) >= 20_003)).toBe(true);
    setDay(20_016);
    await history.tidy();
    expect(await store.list("history/")).toEqual([]);
  });

  test("is bounded in actors too: those who were there last stay", async () => {
    const store = memoryStore();
    const history = historyStore(store);
    setDay(20_000);
    const names = Array.from({ length: 205 }, (_, at) => `actor ${at}`);
    for (const name of names.slice(0, 200)) await history.remember(name, digestOf(name, "send mail"), "m:s");
    setDay(20_001);
    for (const name of names.slice(200)) await history.remember(name, digestOf(name, "send mail"), "m:s");
    expect(await store.list("history/")).toHaveLength(200);
    for (const name of names.slice(200)) expect((await history.recall(name, "send mail")).size).toBe(1);
  });

  test("survives what others have put in its place", async () => {
    const store = memoryStore();
    await remember(store, "send mail", "mail:send");
    const [entry] = await store.list("history/");
    for (const value of [
      {},
      { uses: 5 },
      { uses: [5, null, "", "x", "1 2", "20000", "99999999 a b", "-1 a b"] },
      { uses: { a: 1 } },
    ]) {
      await store.replace(entry?.key ?? "", value);
      expect(await boosts(store, "send mail")).toEqual({});
      await historyStore(store).tidy();
      expect(await store.list("history/")).toEqual([]);
      await remember(store, "send mail", "mail:send");
      expect(Object.keys(await boosts(store, "send mail"))).toEqual(["mail:send"]);
    }
  });
});

describe("uses that several processes write", () => {
  const limits: Limits = { today: 100, days: 20, uses: 12 };
  const use: fc.Arbitrary<Use> = fc.record({
    day: fc.integer({ min: 70, max: 103 }),
    digest: fc.constantFrom("a", "a.b", "c"),
    tool: fc.constantFrom("s:x", "s:y z"),
  });

  test("are kept alike, in whatever order and in however many steps they came", () => {
    const uses = fc.array(use, { maxLength: 120 });
    fc.assert(
      fc.property(uses, uses, uses, (a, b, c) => {
        const all = keptUses([...a, ...b, ...c], limits);
        expect(all.length).toBeLessThanOrEqual(limits.uses);
        expect(keptUses([...keptUses([...a, ...b], limits), ...c], limits)).toEqual(all);
        expect(keptUses([...keptUses([...c, ...a], limits), ...keptUses(b, limits)], limits)).toEqual(all);
        expect(keptUses([...all, ...a], limits)).toEqual(all);
        for (const { day } of all) expect(day >= 80 && day <= 101).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("are all there in the end, and every reader sees whole ones meanwhile", async () => {
    const folder = await temporaryFolder();
    const stores = [fileStore(folder), fileStore(folder)];
    const histories = stores.map((store) => historyStore(store));
    const queries = ["send mail", "open ticket", "read file", "list issues"];
    await Promise.all(
      histories.flatMap((history, at) =>
        queries.map(async (query) => {
          await history.remember("ann", digestOf("ann", query), `s${at}:tool`);
          expect((await history.recall("ann", query)).has(`s${at}:tool`)).toBe(true);
        }),
      ),
    );
    for (const history of histories)
      for (const query of queries)
        expect([...(await history.recall("ann", query)).keys()].sort()).toEqual(["s0:tool", "s1:tool"]);
  });
});

describe("forgetting", () => {
  async function filledFolder(): Promise<string> {
    const folder = await temporaryFolder();
    const history = historyStore(fileStore(folder));
    for (const actor of ["ann", "bob"])
      for (const id of ["mail:send", "files:read_file"])
        for (const query of ["send mail", "read file"])
          await history.remember(actor, digestOf(actor, query), id);
    await history.remember("cleo", digestOf("cleo", "send mail"), "mail:send");
    return folder;
  }

  test("leaves nothing on the disk, and other state alone", async () => {
    const folder = await filledFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("approvals/x", { kept: true });
    const before = await everythingIn(folder);
    for (const secret of secrets()) expect(before).toContain(secret);
    expect(await forgetHistory(store)).toBe(9);
    const after = await everythingIn(folder);
    for (const secret of secrets()) expect(after).not.toContain(secret);
    expect(await everythingIn(join(folder, "history"))).toBe("");
    expect(await store.get("approvals/x")).toMatchObject({ value: { kept: true } });
    expect(await forgetHistory(store)).toBe(0);
  });

  test("takes effect at once in a process that is at work", async () => {
    const folder = await filledFolder();
    const history = historyStore(fileStore(folder));
    expect((await history.recall("ann", "send mail")).size).toBe(2);
    await forgetHistory(fileStore(folder));
    expect((await history.recall("ann", "send mail")).size).toBe(0);
    await history.remember("ann", digestOf("ann", "send mail"), "mail:send");
    expect((await history.recall("ann", "read file")).size).toBe(0);
  });

  test("one tool leaves nothing of it, and the others as they are", async () => {
    const folder = await filledFolder();
    const store = fileStore(folder);
    expect(await forgetTool(store, "mail:send")).toBe(5);
    expect(await everythingIn(folder)).not.toContain("mail:send");
    const history = historyStore(store);
    expect([...(await history.recall("ann", "send mail")).keys()]).toEqual(["files:read_file"]);
    expect(await store.list("history/")).toHaveLength(2);
    expect(await forgetTool(store, "no:tool")).toBe(0);
    expect(await forgetTool(store, "files:read_file")).toBe(4);
    expect(await store.list("history/")).toEqual([]);
  });

  /** What must not be found anywhere afterwards. */
  function secrets(): string[] {
    const digests = ["ann", "bob", "cleo"].map((actor) => digestOf(actor, "send mail"));
    return ["mail:send", "files:read_file", ...digests.flatMap((digest) => digest.split("."))];
  }
});

/** All names and texts in a folder. */
async function everythingIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = files.map(async ({ parentPath, name }) => {
    return `${name}\n${await readFile(join(parentPath, name), "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n");
}
