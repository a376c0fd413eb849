import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { GatewayError, Tool } from "../../../core/mod.ts";
import type { Embedder, Hit, Ranker, RankOptions } from "../../../core/services/search.ts";
import { readLabelledSet } from "../../../playground/labelled/labelled-set.ts";
import { staticEmbedder } from "../../../plugins/search/embedding/static.ts";
import { splitClauses } from "../../../plugins/search/fusion/candidates.ts";
import { type FusionParts, fusionRanker, fusionReader } from "../../../plugins/search/fusion/ranker.ts";
import { makeTools } from "../../bench/_search-tools.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

testRanker("fusion", fusionRanker, { byMeaning: true });

const { tools, queries, nothing } = await readLabelledSet();
const servers = [...new Set(tools.map(({ server }) => server))];

function filled(parts: FusionParts = {}, list: readonly Tool[] = tools): Ranker {
  const ranker = fusionRanker(parts);
  take(ranker, list);
  return ranker;
}

const ranker = filled();
const open = filled({ gate: 0 });

async function rankTools(of: Ranker, query: string, options: RankOptions = {}): Promise<readonly Hit[]> {
  return (await of.rank(query, options)).hits;
}
async function ids(of: Ranker, query: string, options: RankOptions = {}): Promise<string[]> {
  return (await rankTools(of, query, options)).map((hit) => hit.tool.id);
}

/** Queries as people ask them, alone and several at a time, and nonsense. */
const words = [...new Set(queries.flatMap(({ query }) => query.split(/\s+/)))];
const asked = fc.constantFrom(...queries.map(({ query }) => query), ...nothing.map(({ query }) => query));
const several = fc
  .tuple(fc.array(asked, { minLength: 2, maxLength: 4 }), fc.constantFrom(". ", "\n", ", and ", " then "))
  .map(([parts, joint]) => parts.join(joint));
const query = fc.oneof(
  asked,
  several,
  fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((list) => list.join(" ")),
  fc.constantFrom(...tools.map(({ name }) => name)),
  fc.string({ unit: "binary", maxLength: 60 }),
);

describe("a fused ranking", () => {
  test("tells relevances in (0, 1] that never rise down the list", async () => {
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        for (const of of [ranker, open]) {
          const relevances = (await rankTools(of, text, { limit: 60 })).map(({ relevance }) => relevance);
          for (const relevance of relevances) expect(relevance > 0 && relevance <= 1).toBe(true);
          expect(relevances).toEqual(relevances.toSorted((a, b) => b - a));
        }
      }),
    );
  });

  test("is the same for the same tools, in whatever order and however often they came", async () => {
    const order = fc.shuffledSubarray([...servers], { minLength: servers.length });
    await fc.assert(
      fc.asyncProperty(query, order, async (text, shuffled) => {
        const other = fusionRanker();
        for (const server of shuffled) other.update(server, [tool(`${server}:passing`, "Passes by.")]);
        for (const server of shuffled)
          other.update(
            server,
            tools.filter((each) => each.server === server),
          );
        const options = { explain: true, limit: 20 };
        expect(await other.rank(text, options)).toEqual(await ranker.rank(text, options));
      }),
      { numRuns: 15 },
    );
  });

  test("is cut by the limit, and not changed by it", async () => {
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 0, max: 30 }), async (text, limit) => {
        const all = await rankTools(ranker, text, { limit: 60 });
        expect(await rankTools(ranker, text, { limit })).toEqual(all.slice(0, limit));
      }),
    );
  });

  test("keeps its order and relevance where it is narrowed to a server", async () => {
    await fc.assert(
      fc.asyncProperty(query, fc.constantFrom(...servers), async (text, server) => {
        const all = await rankTools(open, text, { limit: 1_000 });
        const there = await ids(open, text, { server, limit: 1_000 });
        const before = all.map((hit) => hit.tool.id).filter((id) => id.startsWith(`${server}:`));
        expect(there.filter((id) => before.includes(id))).toEqual(before);
        expect(there.every((id) => id.startsWith(`${server}:`))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("begins with the tool whose very name is asked for, whichever scorer is loudest", async () => {
    const rankers = [
      ranker,
      ...(["keyword", "embedding", "tag"] as const).map((name) =>
        filled({ weights: { keyword: 0, embedding: 0, tag: 0, [name]: 1 } }),
      ),
    ];
    for (const each of tools) {
      const alike = tools.filter(({ name }) => name === each.name).map(({ id }) => id);
      for (const of of rankers) {
        const [first] = await rankTools(of, each.id);
        expect([each.id, first?.tool.id, first?.relevance]).toEqual([each.id, each.id, 1]);
        const [byName] = await rankTools(of, each.name);
        expect(alike).toContain(byName?.tool.id);
        expect(byName?.relevance).toBe(1);
      }
    }
  });

  test("begins with the first by name of those that have all words of a query without a verb", async () => {
    const github = filled({}, [
      tool("github:update_issue", "Update an existing GitHub issue"),
      tool("github:list_repos", "List GitHub repositories"),
      tool("github:create_issue", "Create a new GitHub issue in a repository, with a title and a body"),
      tool("jira:create_ticket", "Create a new Jira ticket"),
    ]);
    expect((await ids(github, "github issue")).slice(0, 2)).toEqual([
      "github:create_issue",
      "github:update_issue",
    ]);
    expect((await ids(github, "change a github issue"))[0]).toBe("github:update_issue");
  });

  test("shows a tool that is named as in code, whatever else is said", async () => {
    const text = (name: string): string =>
      `my grandmother told me on the train to Lisbon last summer that the ${name} of this world never sing`;
    for (const { id } of tools) expect([id, (await ids(ranker, text(id)))[0]]).toEqual([id, id]);
  });

  test("names what came closest where nothing fits, and only there", async () => {
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        const { hits, nearest } = await ranker.rank(text);
        if (hits.length > 0) expect(nearest).toEqual([]);
        const unguarded = await ids(open, text, { limit: 3 });
        if (hits.length === 0) expect(nearest.map(({ id }) => id)).toEqual(unguarded);
        else expect(hits.slice(0, 3).map((hit) => hit.tool.id)).toEqual(unguarded);
      }),
    );
    const none = await Promise.all(nothing.map(async ({ query: text }) => ranker.rank(text)));
    expect(none.some(({ hits, nearest }) => hits.length === 0 && nearest.length > 0)).toBe(true);
  });

  test("without a gate always finds something where any tool has a score", async () => {
    const reader = fusionReader();
    take({ name: "reader", update: reader.update, rank: () => ({ hits: [], nearest: [] }) }, tools);
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        const { keyword, embedding, tag } = await reader.query(text);
        const hasScore = [keyword, embedding, tag].some((scorer) => scorer.best(1).length > 0);
        expect((await rankTools(open, text)).length > 0).toBe(hasScore && text.trim() !== "");
      }),
    );
  });

  test("with a gate of 1 finds only what is named", async () => {
    const closed = filled({ gate: 1 });
    expect(await ids(closed, "read the text of a file", { limit: 1 })).toEqual([]);
    expect(await ids(closed, "read_text_file", { limit: 1 })).toEqual(["filesystem:read_text_file"]);
  });

  test("finds two tools for two requests in one query", async () => {
    const found = await ids(
      ranker,
      "Read the text of a file on my disk. Then tell me what time it is in Tokyo.",
    );
    expect(found.slice(0, 6).some((id) => id.startsWith("filesystem:read"))).toBe(true);
    expect(found.slice(0, 6).some((id) => id.startsWith("time:"))).toBe(true);
  });

  test("explains itself: the shares add up to the score, and the order is that of the scores", async () => {
    const reader = fusionReader();
    take({ name: "reader", update: reader.update, rank: () => ({ hits: [], nearest: [] }) }, tools);
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        const candidates = await reader.read(text);
        const hits = await rankTools(open, text, { limit: 40, explain: true });
        expect((await rankTools(open, text, { limit: 40 })).map((hit) => hit.tool)).toEqual(
          hits.map((hit) => hit.tool),
        );
        let last = Number.POSITIVE_INFINITY;
        for (const { tool: found, why } of hits) {
          const candidate = candidates.find((each) => each.tool.id === found.id);
          const sum = Object.values(why?.scores ?? {}).reduce((total, share) => total + share, 0);
          expect(Object.keys(why?.scores ?? {}).sort()).toEqual(["embedding", "keyword", "tag"]);
          expect(sum).toBeCloseTo(candidate?.score ?? Number.NaN, 9);
          for (const { share } of why?.terms ?? []) expect(share).toBeGreaterThan(0);
          // Equals have the order of their names.
          const { named = 0, queryCoverage = 0 } = candidate?.evidence() ?? {};
          if (named > 0 || queryCoverage > 0.99) continue;
          expect(sum).toBeLessThanOrEqual(last + 1e-9);
          last = sum;
        }
      }),
      { numRuns: 50 },
    );
  });

  test("never shows a tool that is gone, even if it went while meaning was being asked for", async () => {
    const own = staticEmbedder();
    let release = (): void => {};
    let asked = 0;
    const embedder: Embedder = {
      name: "slow",
      dimensions: own.dimensions,
      hash: "slow",
      embedQueries: async (texts) => {
        asked++;
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return own.embedQueries(texts);
      },
      embedTools: async (list) => own.embedTools(list),
    };
    for (const explain of [false, true]) {
      asked = 0;
      const slow = fusionRanker({ embedding: { embedder } });
      slow.update("old", [tool("old:archive_issue", "Archives an issue.", ["archive", "issue"])]);
      slow.update("new", [tool("new:create_issue", "Creates an issue.", ["issue"])]);
      const ticking = setInterval(() => release(), 1);
      // The vectors of the tools are made in the background, and no query waits before the first is there.
      const isAsked = async (): Promise<boolean> => {
        await slow.rank("archive");
        return asked > 0;
      };
      await expect.poll(isAsked).toBe(true);
      const ranking = Promise.resolve(slow.rank("archive an old issue", { explain }));
      slow.update("old", []);
      try {
        const { hits, nearest } = await ranking;
        expect([...hits.map((hit) => hit.tool.id), ...nearest.map(({ id }) => id)]).toEqual([
          "new:create_issue",
        ]);
      } finally {
        clearInterval(ticking);
      }
    }
  });
});

describe("an embedder that", () => {
  const own = staticEmbedder();
  const made = (parts: Partial<Embedder>): Embedder => ({
    name: "odd",
    dimensions: own.dimensions,
    hash: "odd",
    embedQueries: async (texts) => own.embedQueries(texts),
    embedTools: async (list) => own.embedTools(list),
    ...parts,
  });
  const broken: readonly [string, Partial<Embedder>][] = [
    ["rejects", { embedQueries: () => Promise.reject(new Error("no")) }],
    [
      "throws",
      {
        embedQueries: () => {
          throw new Error("no");
        },
      },
    ],
    ["embeds no tools", { embedTools: () => Promise.reject(new Error("no")) }],
    ["never embeds the tools", { embedTools: () => new Promise(() => {}) }],
    ["answers with nothing", { embedQueries: async () => [] }],
    ["has vectors of another length for queries", { embedQueries: async () => [new Float32Array([1, 0])] }],
  ];

  test.each(broken)("%s leaves words and tags at work", async (_what, parts) => {
    const troubles: GatewayError[] = [];
    const onTrouble = (error: GatewayError): void => void troubles.push(error);
    const deaf = filled({ embedding: { embedder: made(parts), onTrouble } });
    let found = 0;
    const shared = queries.filter(({ kind }) => kind === "shared-words");
    for (const { query: text, relevant } of shared) {
      const first = await ids(deaf, text, { limit: 10 });
      if (relevant.some((id) => first.includes(id))) found++;
    }
    expect(found / shared.length).toBeGreaterThan(0.9);
    expect(troubles.length).toBeLessThanOrEqual(2);
  });

  test("takes forever is waited for once, and leaves them at work", async () => {
    let asked = 0;
    const embedder = made({
      embedQueries: () => {
        asked++;
        return new Promise(() => {});
      },
    });
    const never = filled({ embedding: { embedder } });
    // It is not asked before there is something to compare with.
    await expect
      .poll(
        async () => {
          expect((await ids(never, "list the directory"))[0]).toBe("filesystem:list_directory");
          return asked;
        },
        { timeout: 10_000 },
      )
      .toBe(1);
    for (const text of ["list a directory", "list one directory"])
      expect((await ids(never, text))[0]).toBe("filesystem:list_directory");
    expect(asked).toBe(1);
  });

  test("has embedded only some of the tools hides none of the others", async () => {
    const half = new Set(tools.slice(0, Math.floor(tools.length / 2)).map(({ id }) => id));
    const embedder = made({
      embedTools: async (list) => {
        if (!list.every(({ id }) => half.has(id))) await new Promise(() => {});
        return own.embedTools(list);
      },
    });
    const some = filled({ embedding: { embedder } });
    const shared = queries.filter(
      ({ kind, relevant }) => kind === "shared-words" && !relevant.some((id) => half.has(id)),
    );
    let found = 0;
    for (const { query: text, relevant } of shared)
      if ((await ids(some, text)).some((id) => relevant.includes(id))) found++;
    expect(found / shared.length).toBeGreaterThan(0.9);
  });
});

describe("clauses", () => {
  test("are the requests of a query that has several, and none of one that has not", () => {
    expect(splitClauses("Read the file. Then mail it to Bob")).toEqual([
      "Read the file.",
      "Then mail it to Bob",
    ]);
    expect(splitClauses("list the files\nopen the first")).toEqual(["list the files", "open the first"]);
    for (const one of ["", " ", "read a file", "read.", "Read the file.", "a. b. c.", "\n\n\n"])
      expect(splitClauses(one)).toEqual([]);
  });

  test("are few, short, and parts of the query, whatever it is", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(". ", "; ", ", and ", " then ", " and then ", "\n", " + ", "? ", "。", "read a file"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        const clauses = splitClauses(text);
        expect(clauses.length).toBeLessThanOrEqual(6);
        expect(clauses.length).not.toBe(1);
        expect(new Set(clauses).size).toBe(clauses.length);
        for (const clause of clauses) expect(text).toContain(clause);
        expect(clauses.join("").length).toBeLessThanOrEqual(4_000);
      }),
    );
  });

  test.each([
    ["spaces", " ".repeat(100_000)],
    ["commas and spaces", `,${" ".repeat(300)}`.repeat(300)],
    ["line breaks", "\n".repeat(100_000)],
    ["ends of sentences", ". ".repeat(50_000)],
    ["letters", "a".repeat(100_000)],
    ["sentences", "then do it. ".repeat(9_000)],
  ])("of 100 kB of %s are found at once", (_what, text) => {
    const began = performance.now();
    expect(splitClauses(text).length).toBeLessThanOrEqual(6);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("over 5,000 tools", () => {
  const many = filled({}, makeTools(5_000));
  const sentence =
    "Create a new issue in the repository about the broken page, and then list all open orders. ";
  const foreign = [
    "在仓库中创建一个新的问题。然后列出所有未结订单。",
    "リポジトリに新しい課題を作成して、すべての注文を一覧表示してください。",
    "저장소에 새 이슈를 만들고 모든 주문을 나열하세요.",
    "Создай новую задачу в репозитории, а затем перечисли все открытые заказы. ",
    "أنشئ مشكلة جديدة في المستودع ثم اعرض كل الطلبات المفتوحة. ",
    "สร้างปัญหาใหม่ในที่เก็บแล้วแสดงรายการคำสั่งซื้อทั้งหมด ",
    "रिपॉजिटरी में एक नया मुद्दा बनाएँ और फिर सभी ऑर्डर दिखाएँ। ",
  ];
  const cases: readonly [string, string][] = [
    ["one word of 100 kB", "a".repeat(100_000)],
    ["100 kB of sentences", sentence.repeat(1_100)],
    ["100 kB of the most frequent words", "get list create the of and data file name ".repeat(2_400)],
    ["100 kB of different words", Array.from({ length: 15_000 }, (_, at) => `w${at}`).join(" ")],
    [
      "100 kB of names of tools",
      makeTools(3_000)
        .map(({ id }) => id)
        .join(" ")
        .slice(0, 100_000),
    ],
    ["100 kB of control characters", "\u0000\u0001\u001b[31m\u0007".repeat(13_000)],
    ["100 kB of half characters", "\ud800".repeat(100_000)],
    ["100 kB of marks", "e\u0301\u0302\u0303".repeat(25_000)],
    ["100 kB of spaces", " ".repeat(100_000)],
    ["100 kB of emoji", "👩‍👩‍👧‍👦 ".repeat(8_000)],
    ...foreign.map((text): [string, string] => [
      `100 kB of "${text.slice(0, 12)}"`,
      text.repeat(2_500).slice(0, 100_000),
    ]),
    ...foreign.map((text): [string, string] => [`"${text.slice(0, 12)}"`, text]),
    ["a sentence", sentence],
  ];

  test.each(cases)("%s takes less than 50 ms", async (_what, text) => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 6 && least >= 50; round++) {
      const before = process.cpuUsage();
      const { hits } = await many.rank(text);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, (user + system) / 1_000);
      expect(Array.isArray(hits)).toBe(true);
    }
    expect(least).toBeLessThan(50);
  });
});
