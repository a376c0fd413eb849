import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../core/mod.ts";
import type { Ranker } from "../../core/services/search.ts";

/** A tool of the catalog, as far as a ranker looks at it. */
export function tool(id: string, description?: string, tags: string[] = []): Tool {
  const [server = "", name = ""] = id.split(":");
  return {
    id,
    server,
    name,
    description,
    inputSchema: { type: "object" },
    tags,
    enabled: true,
    builtin: false,
  };
}

const tools: readonly Tool[] = [
  tool("github:create_issue", "Creates an issue in a repository.", ["issues"]),
  tool("github:list_issues", "Lists the issues of a repository.", ["issues"]),
  tool("jira:create_ticket", "Creates a ticket, which is an issue by another name.", ["issues"]),
  tool("files:read_file", "Reads a file.", ["files"]),
  tool("files:write_file", "Writes a file.", ["files"]),
  tool("time:now"),
];

/** Hands a ranker these tools, server by server. */
export function take(ranker: Ranker, list: readonly Tool[]): void {
  for (const server of new Set(list.map((each) => each.server)))
    ranker.update(
      server,
      list.filter((each) => each.server === server),
    );
}

/** The contract of every ranker. A semantic ranker may find a tool that has none of the words of the query. */
export function testRanker(
  name: string,
  make: () => Ranker,
  { byMeaning = false }: { readonly byMeaning?: boolean } = {},
): void {
  const indexed = (list: readonly Tool[] = tools): Ranker => {
    const ranker = make();
    take(ranker, list);
    return ranker;
  };
  const rank = async (ranker: Ranker, ...query: Parameters<Ranker["rank"]>) =>
    (await ranker.rank(...query)).hits;
  const ids = async (ranker: Ranker, ...query: Parameters<Ranker["rank"]>) =>
    (await rank(ranker, ...query)).map((hit) => hit.tool.id);

  describe(`${name} as a ranker`, () => {
    test("has a name", async () => {
      expect(make().name).toMatch(/^[a-z][a-z0-9-]*$/);
    });

    test("ranks a tool first whose exact name is the query", async () => {
      for (const { id, name: word } of tools)
        expect([word, (await ids(indexed(), word))[0]]).toEqual([word, id]);
    });

    test("answers with the tools themselves, each once, the most relevant first", async () => {
      const hits = await rank(indexed(), "create issue file", { limit: 100 });
      expect(hits.length).toBeGreaterThan(2);
      expect(hits.every((hit) => tools.includes(hit.tool))).toBe(true);
      expect(new Set(hits.map((hit) => hit.tool)).size).toBe(hits.length);
      const relevance = hits.map((hit) => hit.relevance);
      expect(relevance).toEqual(relevance.toSorted((a, b) => b - a));
    });

    test("tells relevance between 0 and 1, and leaves out what does not fit", async () => {
      const query = fc.oneof(
        fc.string(),
        fc.array(fc.constantFrom("create", "issue", "file", "x")).map((w) => w.join(" ")),
      );
      await fc.assert(
        fc.asyncProperty(query, async (text) => {
          for (const { relevance } of await rank(indexed(), text)) {
            expect(relevance).toBeGreaterThan(0);
            expect(relevance).toBeLessThanOrEqual(1);
          }
        }),
      );
      expect(await ids(indexed(), "qwertyuiop")).toEqual([]);
    });

    test("gives the same answer to the same query, in whatever order the tools came", async () => {
      const query = fc.array(fc.constantFrom("create", "issue", "file", "read", "repository", "a"), {
        minLength: 1,
      });
      const order = fc.shuffledSubarray([...tools], { minLength: tools.length });
      const ranker = indexed();
      await fc.assert(
        fc.asyncProperty(query, order, async (words, shuffled) => {
          const text = words.join(" ");
          const answer = await ranker.rank(text);
          expect(await ranker.rank(text)).toEqual(answer);
          expect(await indexed(shuffled).rank(text)).toEqual(answer);
        }),
        { numRuns: 50 },
      );
    });

    test("does not mind upper case", async () => {
      expect(await ids(indexed(), "CREATE Issue")).toEqual(await ids(indexed(), "create issue"));
    });

    test("returns the best 10 tools at most, or as many as requested", async () => {
      const many = Array.from({ length: 30 }, (_, index) =>
        tool(`s:file_${index}`, "Reads a file.", ["files"]),
      );
      const ranker = indexed(many);
      const all = await ids(ranker, "file", { limit: 30 });
      expect(all).toHaveLength(30);
      expect(await ids(ranker, "file")).toEqual(all.slice(0, 10));
      expect(await ids(ranker, "file", { limit: undefined })).toHaveLength(10);
      for (const limit of [0, 1, 7])
        expect(await ids(ranker, "file", { limit })).toEqual(all.slice(0, limit));
      expect(await ids(ranker, "file", { limit: -1 })).toEqual([]);
    });

    test("keeps to one server where it is asked to, and ranks its tools as before", async () => {
      const everywhere = await ids(indexed(), "create issue", { limit: 100 });
      const there = await ids(indexed(), "create issue", { server: "github", limit: 100 });
      expect(there).toEqual(everywhere.filter((id) => id.startsWith("github:")));
      expect(there).toContain("github:create_issue");
      expect(await ids(indexed(), "create issue", { server: undefined, limit: 100 })).toEqual(everywhere);
      expect(await ids(indexed(), "create issue", { server: "nowhere" })).toEqual([]);
    });

    test("applies the limit after the server", async () => {
      expect(await ids(indexed(), "create issue", { server: "jira", limit: 1 })).toEqual([
        "jira:create_ticket",
      ]);
    });

    test.each(["", " ", "\t\n "])("finds nothing for the empty query %j", async (query) => {
      expect(await ids(indexed(), query)).toEqual([]);
    });

    test("knows nothing before it has tools, and nothing of those that were replaced", async () => {
      const ranker = make();
      expect(await ids(ranker, "issue")).toEqual([]);
      take(ranker, tools);
      expect(await ids(ranker, "now")).toEqual(["time:now"]);
      ranker.update("time", [tool("time:later", "Tells what time it will be.")]);
      if (byMeaning) expect(await ids(ranker, "now")).not.toContain("time:now");
      else expect(await ids(ranker, "now")).toEqual([]);
      const later = await ids(ranker, "later");
      expect(byMeaning ? later.slice(0, 1) : later).toEqual(["time:later"]);
      ranker.update("time", []);
      expect(await ids(ranker, "later")).toEqual([]);
      expect((await ids(ranker, "read_file"))[0]).toBe("files:read_file");
    });

    test("changes neither the tools nor their list", async () => {
      const frozen = tools.map((each) =>
        Object.freeze({ ...each, tags: Object.freeze([...each.tags]) as string[] }),
      );
      expect(await ids(indexed(Object.freeze(frozen) as readonly Tool[]), "create issue")).not.toEqual([]);
    });

    test("never throws, whatever is asked", async () => {
      const ranker = indexed([...tools, tool("odd:a+b(c[", "(.*) \\ [", ["["])]);
      const unit = fc.constantFrom<"binary" | "grapheme-ascii">("binary", "grapheme-ascii");
      const query = unit.chain((kind) => fc.string({ unit: kind, maxLength: 200 }));
      await fc.assert(
        fc.asyncProperty(query, async (text) => {
          expect(Array.isArray(await rank(ranker, text))).toBe(true);
        }),
      );
      for (const text of [
        "\u0000",
        "\u001b[31m",
        "\ud800",
        "(",
        "[",
        "\\",
        "*",
        "__proto__",
        "constructor",
        "toString",
      ]) {
        expect(Array.isArray(await rank(ranker, text))).toBe(true);
      }
    });

    test.each([
      ["one word", "a".repeat(100_000)],
      ["many words", "file issue ".repeat(10_000)],
      ["words that are all different", Array.from({ length: 15_000 }, (_, index) => `w${index}`).join(" ")],
      ["nothing but control characters", "\u0000\u0001\u0007".repeat(33_000)],
      ["nothing but spaces", " ".repeat(100_000)],
    ])("answers a query of 100 kB over 1,000 tools before anyone waits: %s", async (_what, query) => {
      const ranker = indexed(
        Array.from({ length: 1_000 }, (_, index) =>
          tool(`s${index % 10}:file_${index}`, "Reads a file. ".repeat(20), ["files"]),
        ),
      );
      const began = performance.now();
      expect(Array.isArray(await rank(ranker, query))).toBe(true);
      expect(performance.now() - began).toBeLessThan(10_000);
    });
  });
}
