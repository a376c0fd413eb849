import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { tagRanker, tagScorer } from "../../../plugins/search/tag.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

testRanker("tagRanker", tagRanker);

const tools = [
  tool("github:merge", "Merges.", ["version control", "reviews"]),
  tool("github:star", "Stars.", ["bookmarks"]),
  tool("gitlab:merge", "Merges.", ["version control"]),
  tool("crm:call", "Calls somebody.", ["sales", "phone"]),
  tool("crm:plain", "Has no tags: sales, phone, reviews."),
];

async function found(query: string): Promise<string[]> {
  const ranker = tagRanker();
  take(ranker, tools);
  return (await ranker.rank(query)).hits.map((hit) => hit.tool.id);
}

test.each([
  ["a tag in any form and case", "please REVIEW it", ["github:merge"]],
  ["more tags before fewer", "version control reviews", ["github:merge", "gitlab:merge"]],
  ["a whole tag before a part of one", "control of sales", ["crm:call", "github:merge", "gitlab:merge"]],
  ["nothing by the description alone", "somebody", []],
  [
    "all tools of a server that is named, those with the tag first",
    "github bookmarks",
    ["github:star", "github:merge"],
  ],
  ["a server that is named before another with the tag", "gitlab reviews", ["gitlab:merge", "github:merge"]],
  ["the server alone", "what does crm do", ["crm:call", "crm:plain"]],
  ["the tool whose name is asked for", "plain", ["crm:plain"]],
])("finds %s", async (_what, query, ids) => {
  expect(await found(query)).toEqual(ids);
});

test("names which tags and servers it was", async () => {
  const ranker = tagRanker();
  take(ranker, tools);
  const { hits } = await ranker.rank("github version control", { explain: true });
  expect(hits[0]?.why?.scores).toEqual({ tag: expect.any(Number) });
  expect(hits[0]?.why?.terms.map(({ term, field }) => [term, field])).toEqual([
    ["github", "server"],
    ["version control", "tags"],
  ]);
  expect((await ranker.rank("sales")).hits[0]).not.toHaveProperty("why");
});

describe("as a scorer of a fusion, it", () => {
  test("gives a tool the same score alone and among the best", () => {
    const scorer = tagScorer();
    take(scorer as never, tools);
    const words = fc.array(
      fc.constantFrom("github", "version", "control", "reviews", "sales", "merge", "crm"),
    );
    fc.assert(
      fc.property(words, (query) => {
        const asked = scorer.query(query.join(" "));
        for (const { tool: each, score } of asked.best(100)) expect(asked.score(each)).toBe(score);
        const left = tools.filter((each) => !asked.best(100).some((hit) => hit.tool === each));
        for (const each of left) expect(asked.score(each)).toBe(0);
      }),
    );
  });

  test("knows the same features of every tool", () => {
    const scorer = tagScorer();
    take(scorer as never, tools);
    const asked = scorer.query("github reviews");
    for (const each of [...tools, tool("no:where")])
      expect(Object.keys(asked.features(each))).toEqual(["tags", "server", "named"]);
    expect(asked.features(tools[0] as Tool)).toEqual({ tags: 0.7, server: 1, named: 0 });
  });
});

test("changes leave nothing behind: any sequence of them ends as if the last had come alone", () => {
  const tag = fc.constantFrom("sales", "phone calls", "version control", "Reviews");
  const change = fc.record({
    server: fc.constantFrom("a", "b"),
    names: fc.uniqueArray(fc.constantFrom("x", "y", "z"), { maxLength: 3 }),
    tags: fc.array(tag, { maxLength: 3 }),
  });
  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
  const createTools = ({ server, names, tags }: Change): Tool[] =>
    names.map((name) => tool(`${server}:${name}`, "", tags));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 8 }), (changes) => {
      const changed = tagRanker();
      const last = new Map<string, Tool[]>();
      for (const each of changes) {
        last.set(each.server, createTools(each));
        changed.update(each.server, last.get(each.server) ?? []);
      }
      const fresh = tagRanker();
      for (const [server, list] of last) fresh.update(server, list);
      for (const query of ["sales", "phone", "review a version", "a", "x", "b y"])
        expect(changed.rank(query)).toEqual(fresh.rank(query));
    }),
  );
});
