import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { createKeywordIndex } from "../../../plugins/search/keyword/index.ts";
import { keywordRanker, keywordScorer } from "../../../plugins/search/keyword/ranker.ts";
import { keywordDefaults, keywordFields } from "../../../plugins/search/options.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

testRanker("keywordRanker", keywordRanker);

async function found(tools: readonly Tool[], query: string, limit = 10): Promise<string[]> {
  const ranker = keywordRanker();
  take(ranker, tools);
  return (await ranker.rank(query, { limit })).hits.map((hit) => hit.tool.id);
}

describe("a tool that the query names comes first,", () => {
  const tools = [
    tool("github:create_issue", "Opens one."),
    tool("gitlab:create_issue", "Opens one."),
    tool("tracker:createIssue", "Opens one."),
    tool("tracker:create_issue_comment", "create issue create issue create issue, issue issue issue."),
    tool("issue:create", "create issue: create an issue, issue create. Creates issues."),
    tool("signs:***", "Nothing but signs."),
    tool("signs:???", "Nothing but signs."),
  ];

  test.each([
    ["create_issue", ["github:create_issue", "gitlab:create_issue", "tracker:createIssue"]],
    ["createIssue", ["tracker:createIssue", "github:create_issue", "gitlab:create_issue"]],
    ["Create-Issue", ["github:create_issue", "gitlab:create_issue", "tracker:createIssue"]],
    ["create issue", ["github:create_issue", "gitlab:create_issue", "tracker:createIssue"]],
    ["github:create_issue", ["github:create_issue"]],
    ["GitLab create issue", ["gitlab:create_issue"]],
    ["gitlab/create_issue", ["gitlab:create_issue"]],
    ["issue:create", ["issue:create"]],
    ["issue create", ["issue:create"]],
    ["***", ["signs:***"]],
    ["???", ["signs:???"]],
  ])("as in %j", async (query, first) => {
    expect((await found(tools, query)).slice(0, first.length)).toEqual(first);
  });

  test("with the relevance 1, which no other has", async () => {
    const ranker = keywordRanker();
    take(ranker, tools);
    const { hits } = await ranker.rank("github:create_issue");
    expect(hits.map(({ relevance }) => relevance === 1)).toEqual(hits.map((_, place) => place === 0));
  });

  test("and so does one that is mentioned as in code", async () => {
    const queries = [
      "please call github:create_issue for me",
      "use `createIssue`, not the issue comment tool",
    ];
    expect((await found(tools, queries[0] ?? ""))[0]).toBe("github:create_issue");
    expect((await found(tools, queries[1] ?? ""))[0]).toMatch(/create_?issue$/i);
  });

  test("whatever server the search is kept to", async () => {
    const ranker = keywordRanker();
    take(ranker, tools);
    const { hits } = await ranker.rank("create_issue", { server: "gitlab" });
    expect(hits.map((hit) => hit.tool.id)).toEqual(["gitlab:create_issue"]);
  });
});

describe("explanations", () => {
  const schema = (properties: object): Tool["inputSchema"] => ({ type: "object", properties });
  const tools: Tool[] = [
    tool("weather:forecast", "Tells how the sky will look."),
    tool("files:search_files", "Looks for names."),
    tool("crm:add_contact", "Adds somebody."),
    { ...tool("crm:merge", "Joins two."), inputSchema: schema({ invoiceNumber: { type: "string" } }) },
    {
      ...tool("crm:split", "Parts two."),
      inputSchema: schema({ of: { type: "array", items: schema({ at: { description: "the postcode" } }) } }),
    },
    { ...tool("crm:run"), title: "Reconcile accounts" },
    tool("crm:tagged", "Has a label.", ["logistics"]),
    tool("zh:bing", "使用必应搜索指定的关键词"),
    tool("fs:filesystem_tree", "Walks."),
    tool("odd:now"),
  ];

  test.each([
    ["the server", "weather", "weather:forecast"],
    ["the name", "search files", "files:search_files"],
    ["another form of a word", "searching a file", "files:search_files"],
    ["a parameter", "invoice number", "crm:merge"],
    ["what is said of a nested parameter", "postcode", "crm:split"],
    ["the title", "reconcile", "crm:run"],
    ["a tag", "logistics", "crm:tagged"],
    ["another script", "搜索", "zh:bing"],
    ["a synonym", "remove or create a contact", "crm:add_contact"],
    ["two words that are written as one", "file system tree", "fs:filesystem_tree"],
    ["a name that is a word which says nothing elsewhere", "now", "odd:now"],
  ])("%s", async (_what, query, id) => {
    expect((await found(tools, query))[0]).toBe(id);
  });
});

test("a word that few tools have counts more than one that many have", async () => {
  const many = Array.from({ length: 20 }, (_, index) => tool(`s:common_${index}`, "A common thing."));
  expect((await found([...many, tool("s:rare", "A quaint thing.")], "common quaint"))[0]).toBe("s:rare");
});

test("a name that the query has whole comes before a longer one", async () => {
  const tools = [tool("a:read_file_metadata_and_more"), tool("b:read_file")];
  expect(await found(tools, "please read the file for me")).toEqual([
    "b:read_file",
    "a:read_file_metadata_and_more",
  ]);
});

test("where nothing is found, tools with words that are written alike are named", async () => {
  const ranker = keywordRanker();
  take(ranker, [tool("a:translate_text", "Translates."), tool("b:read_file", "Reads a file.")]);
  const { hits, nearest } = await ranker.rank("tranzlate");
  expect(hits).toEqual([]);
  expect(nearest.map(({ id }) => id)).toEqual(["a:translate_text"]);
  expect((await ranker.rank("tranzlate", { server: "b" })).nearest).toEqual([]);
  expect((await ranker.rank("translate")).nearest).toEqual([]);
  expect((await ranker.rank("qqqqqqqq")).nearest).toEqual([]);
});

describe("the explanation of a hit", () => {
  const tools = [
    tool("github:create_issue", "Creates an issue in a repository."),
    tool("github:list", "Lists what is there."),
    tool("other:thing"),
  ];

  test("is there only where it is asked for", async () => {
    const ranker = keywordRanker();
    take(ranker, tools);
    expect((await ranker.rank("issue")).hits[0]).not.toHaveProperty("why");
    expect((await ranker.rank("issue", { explain: true })).hits[0]?.why?.scores).toHaveProperty("keyword");
  });

  test("names the words, where each was found and what it adds, the weightiest first", async () => {
    const ranker = keywordRanker();
    take(ranker, tools);
    const { hits } = await ranker.rank("github issues of a repo", { explain: true });
    const terms = hits[0]?.why?.terms ?? [];
    expect(terms.map(({ term, field }) => `${term}: ${field}`).sort()).toEqual([
      "github: server",
      "issues: name",
      "issues: summary",
      "repo: summary",
    ]);
    const shares = terms.map(({ share }) => share);
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
    expect(Math.min(...shares)).toBeGreaterThan(0);
  });
});

describe("as a scorer of a fusion, it", () => {
  const texts = fc.array(fc.constantFrom("read", "file", "create", "issue", "mail", "send", "list", "db"), {
    minLength: 1,
    maxLength: 6,
  });
  const catalog = fc.uniqueArray(
    fc.record({ server: fc.constantFrom("a", "b", "c"), name: texts, about: texts }),
    { minLength: 1, maxLength: 15, selector: ({ server, name }) => `${server}:${name.join("_")}` },
  );
  const toTools = (list: readonly { server: string; name: string[]; about: string[] }[]): Tool[] =>
    list.map(({ server, name, about }) => tool(`${server}:${name.join("_")}`, `${about.join(" ")}. More.`));

  test("gives a tool the same score alone and among the best, and the best are those with the highest", () => {
    fc.assert(
      fc.property(catalog, texts, fc.integer({ min: 1, max: 20 }), (list, words, count) => {
        const tools = toTools(list);
        const scorer = keywordScorer();
        take(scorer as never, tools);
        const asked = scorer.query(words.join(" "));
        const expected = tools
          .map((each) => ({ tool: each, score: asked.score(each) }))
          .filter(({ score }) => score > 0)
          .sort((a, b) => b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1));
        expect(asked.best(count)).toEqual(expected.slice(0, count));
        expect(asked.best(count, "b")).toEqual(
          expected.filter((each) => each.tool.server === "b").slice(0, count),
        );
      }),
    );
  });

  test("explains all of the sum by the terms, and knows the same features of every tool", () => {
    fc.assert(
      fc.property(catalog, texts, (list, words) => {
        const tools = toTools(list);
        const scorer = keywordScorer();
        take(scorer as never, tools);
        const asked = scorer.query(words.join(" "));
        for (const each of [...tools, tool("no:where")]) {
          const features = asked.features(each);
          expect(Object.keys(features)).toEqual([
            "bm25f",
            "share",
            "queryCoverage",
            "nameCoverage",
            "serverCoverage",
            "named",
          ]);
          const { bm25f = 0, share, queryCoverage, nameCoverage, serverCoverage } = features;
          for (const value of [share, queryCoverage, nameCoverage, serverCoverage]) {
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(1 + 1e-9);
          }
          const sum = asked.terms(each).reduce((total, term) => total + term.share, 0);
          expect(sum).toBeCloseTo(bm25f, 5);
        }
      }),
    );
  });

  test("knows nothing of a tool that is not there", () => {
    const scorer = keywordScorer();
    scorer.update("a", [tool("a:read")]);
    expect(scorer.query("read").score(tool("b:read"))).toBe(0);
    expect(scorer.query("read").terms(tool("b:read"))).toEqual([]);
  });

  test("answers by the tools as they are, even where they came after the query was read", () => {
    const scorer = keywordScorer();
    scorer.update("a", [tool("a:read_file")]);
    const asked = scorer.query("read file");
    expect(asked.best(5).map((each) => each.tool.id)).toEqual(["a:read_file"]);
    scorer.update("b", [tool("b:read_file"), tool("b:write_file")]);
    scorer.update("a", []);
    expect(asked.best(5)).toEqual(scorer.query("read file").best(5));
    expect(asked.best(5).map((each) => each.tool.id)).toEqual(["b:read_file", "b:write_file"]);
  });
});

describe("an index", () => {
  const words = [
    "read",
    "files",
    "create",
    "issue",
    "GitHub",
    "mail",
    "über",
    "搜索",
    "list_all",
    "the",
    "v2",
  ];
  const some = fc.array(fc.constantFrom(...words, ...Array.from({ length: 40 }, (_, n) => `word${n}`)), {
    maxLength: 8,
  });
  const change = fc.record({
    server: fc.constantFrom("a", "b", "c", "d"),
    tools: fc.uniqueArray(fc.record({ name: some, about: some, tags: some, title: some, parameter: some }), {
      maxLength: 6,
      selector: ({ name }) => name.join("_"),
    }),
  });
  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
  const createTools = ({ server, tools }: Change): Tool[] =>
    tools.map(({ name, about, tags, title, parameter }) => ({
      ...tool(`${server}:${name.join("_")}`, about.join(" "), tags),
      title: title.join(" "),
      inputSchema: {
        type: "object",
        properties: { [parameter.join("_")]: { description: about.join(" ") } },
      },
    }));
  const queries = [
    "read files",
    "create github issue",
    "word1 word2 word3",
    "搜索 uber",
    "the",
    "list all v2",
  ];
  const answers = (scorer: ReturnType<typeof keywordScorer>): unknown =>
    queries.map((query) => [scorer.query(query).best(100), scorer.query(query).best(3, "b")]);

  test.each([
    ["as it comes", {}],
    ["where changes are never kept apart", { apart: 0, deadTerms: 0 }],
    ["where they are always", { apart: 1e9 }],
  ])("that has seen changes answers like one that never did, %s", (_what, options) => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.boolean(), (changes, isAsked) => {
        const changed = keywordScorer({}, createKeywordIndex(options));
        const last = new Map<string, Tool[]>();
        for (const each of changes) {
          last.set(each.server, createTools(each));
          changed.update(each.server, last.get(each.server) ?? []);
          // Being asked puts it in order, so it must not matter when.
          if (isAsked) changed.query("read files").best(3);
        }
        const fresh = keywordScorer();
        for (const [server, tools] of [...last].sort(([a], [b]) => (a < b ? 1 : -1)))
          fresh.update(server, tools);
        expect(answers(changed)).toEqual(answers(fresh));
      }),
      { numRuns: 60 },
    );
  });

  test("that was saved and loaded answers like the one that was read, also where servers have changed", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), fc.array(change, { maxLength: 3 }), (before, after) => {
        const saved = createKeywordIndex();
        for (const each of before) saved.update(each.server, createTools(each));
        const loaded = createKeywordIndex();
        expect(loaded.load(saved.save())).toBe(true);
        const read = createKeywordIndex();
        for (const each of [...before, ...after])
          for (const index of [loaded, read]) index.update(each.server, createTools(each));
        expect(answers(keywordScorer({}, loaded))).toEqual(answers(keywordScorer({}, read)));
      }),
      { numRuns: 60 },
    );
  });

  test("does not take in what was cut off or written by another version", () => {
    const saved = createKeywordIndex();
    saved.update("a", [tool("a:read_file", "Reads a file."), tool("a:write_file", "Writes a file.")]);
    const bytes = saved.save();
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), (length) => {
        expect(createKeywordIndex().load(bytes.slice(0, length))).toBe(false);
      }),
    );
    const older = Buffer.from(bytes);
    older.write("toolpipe-keyword-0", older.indexOf("toolpipe-keyword-"));
    const index = createKeywordIndex();
    expect(index.load(older)).toBe(false);
    index.update("a", [tool("a:read_file", "Reads a file.")]);
    expect(keywordScorer({}, index).query("read").best(5)).toHaveLength(1);
  });

  test("can be shared by searches that count in other ways", () => {
    const index = createKeywordIndex();
    index.update("a", [tool("a:mail", "Sends."), tool("a:send", "mail mail mail.")]);
    const byName = keywordScorer({ weights: { summary: 0 } }, index);
    const bySummary = keywordScorer({ weights: { name: 0 }, nameCoverage: 0 }, index);
    expect(
      byName
        .query("mail it")
        .best(5)
        .map((each) => each.tool.id),
    ).toEqual(["a:mail"]);
    expect(
      bySummary
        .query("mail it")
        .best(5)
        .map((each) => each.tool.id),
    ).toEqual(["a:send"]);
  });

  test("forgets the words of tools that are gone", () => {
    const index = createKeywordIndex({ apart: 0, deadTerms: 100 });
    for (let round = 0; round < 50; round++) {
      index.update("a", [tool("a:t", Array.from({ length: 40 }, (_, n) => `word${round}x${n}`).join(" "))]);
      index.ready();
    }
    expect(index.terms.size).toBeLessThan(300);
    expect(keywordScorer({}, index).query("word49x7").best(5)).toHaveLength(1);
    expect(keywordScorer({}, index).query("word48x7").best(5)).toHaveLength(0);
  });
});

test("every field has a weight and counts its length by default", () => {
  for (const field of keywordFields) {
    expect(keywordDefaults.weights[field]).toBeGreaterThan(0);
    expect(keywordDefaults.lengths[field]).toBeGreaterThanOrEqual(0);
    expect(keywordDefaults.lengths[field]).toBeLessThanOrEqual(1);
  }
});

test("tools with whatever a server may send are taken in", async () => {
  const deep = (levels: number): object =>
    levels === 0
      ? {}
      : { type: "object", properties: { nested: deep(levels - 1), list: { items: deep(0) } } };
  const circular: Record<string, unknown> = { type: "object", properties: {} };
  (circular["properties"] as Record<string, unknown>)["self"] = circular;
  const odd = [
    { inputSchema: null },
    { inputSchema: { properties: [] } },
    { inputSchema: { properties: { a: null, b: 5, c: { description: 7 } } } },
    { inputSchema: deep(200) },
    { inputSchema: circular },
    { inputSchema: { anyOf: [null, { properties: { anywhere: {} } }] } },
    { title: 5, description: 5, tags: "tag", annotations: { title: {} } },
    { description: "x ".repeat(500_000) },
    { description: "" },
  ];
  const tools = odd.map((part, index) => ({ ...tool(`s:odd_${index}`), ...part }) as unknown as Tool);
  expect(await found(tools, "odd", 20)).toHaveLength(odd.length);
  expect(await found(tools, "anywhere")).toEqual(["s:odd_5"]);
});

describe("over 5,000 tools, a query takes no more than 50 ms of CPU:", () => {
  const vocabulary = Array.from({ length: 3_000 }, (_, index) => `word${(index * 7919) % 3000}`);
  const tools = Array.from({ length: 5_000 }, (_, index) => {
    const at = (step: number): string => vocabulary[(index * step) % 3_000] ?? "";
    return tool(
      `s${index % 100}:${at(3)}_${at(5)}_${index}`,
      `${at(7)} ${at(11)} file. ${at(13)} issue ${at(17)}`,
    );
  });
  const ranker = keywordRanker();
  take(ranker, tools);
  void ranker.rank("file issue");

  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 2_000 }),
    fc.string({ unit: "grapheme", maxLength: 2_000 }),
    fc.array(fc.constantFrom(...vocabulary), { maxLength: 300 }).map((words) => words.join(" ")),
  );

  /** The least of a few times: what it takes where nothing else is in the way. */
  const cpuMs = (query: string): number => {
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 3 && least > 50; time++) {
      const before = process.cpuUsage();
      ranker.rank(query);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, (user + system) / 1000);
    }
    return least;
  };

  test.each([
    ["one word of 100 kB", "a".repeat(100_000)],
    ["one name of 100 kB", "a_B:".repeat(25_000)],
    ["the same words again and again", "file issue word7 ".repeat(6_000)],
    ["all words", vocabulary.join(" ").repeat(4)],
    ["100 kB of another script", "搜索文件".repeat(25_000)],
    ["100 kB of letters with accents", "é".repeat(100_000)],
    ["100 kB of marks", "a\u0301\u0302\u0303".repeat(25_000)],
    ["100 kB of control characters", "\u0000\u0001\u001b[".repeat(25_000)],
    ["100 kB of halves of characters", "\ud800".repeat(100_000)],
    ["100 kB of right-to-left text", "\u202eقراءة ملف ".repeat(8_000)],
    ["100 kB of nothing", " \n\t".repeat(33_000)],
    ["100 kB of capitals", "aB".repeat(50_000)],
    ["100 kB of words that are alike", Array.from({ length: 12_000 }, (_, n) => `wordz${n}`).join(" ")],
  ])("%s", (_what, query) => {
    expect(cpuMs(query)).toBeLessThan(50);
  });

  test("and neither does any other", () => {
    fc.assert(
      fc.property(odd, (query) => {
        expect(cpuMs(query)).toBeLessThan(50);
      }),
      { numRuns: 60 },
    );
  });
});
