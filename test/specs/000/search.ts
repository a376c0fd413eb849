import { calculateRelevance, SearchEngine, type SearchResult, type ToolMetadata } from "toolpipe/anygpt";
import { expect } from "vitest";
import { createDiscoveryEngine } from "../../../presets/anygpt/mod.ts";
import type { Specification } from "../specification.ts";
import { toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { tool, world } from "./world.ts";

const tools = [
  tool("create_issue", { summary: "Create a new GitHub issue", tags: ["issues"] }),
  tool("list_repos", { summary: "List repositories" }),
  tool("delete_repo", { summary: "Delete a repository", enabled: false }),
  tool("create_ticket", { server: "jira", summary: "Create a ticket" }),
];

/** An index of these tools. */
function createIndex(given: readonly ToolMetadata[] = tools): SearchEngine {
  const engine = new SearchEngine();
  engine.index([...given]);
  return engine;
}

const toTools = (results: readonly SearchResult[]): string[] => results.map((result) => result.tool);
const relevance = (query: string, given: Partial<ToolMetadata>): number =>
  calculateRelevance(tool("name", given), query);

/** Lines 137 to 187: the search. Lines 383 to 423: relevance. Lines 571 to 588: tasks. */
export function searchRows({ row, differs, added, prose }: Specification): void {
  prose(137, 141, 148, 383, 571, 573, 575, 583);

  row(
    "139, 142, 172, 187, 576-577, 581, 584",
    "A search of words in names and descriptions finds tools.",
    () => {
      expect(toTools(createIndex().search("repositories"))).toEqual(["list_repos"]);
      expect(toTools(createIndex().search("ticket"))).toEqual(["create_ticket"]);
      expect(createIndex().search("zzz")).toEqual([]);
    },
  );
  row("143, 578, 585", "Every result has its relevance, as calculateRelevance has it.", () => {
    for (const query of ["create", "create issue", "a", "issues list"])
      for (const { tool: name, relevance: score } of createIndex().search(query))
        expect(score).toBe(
          calculateRelevance(tools.find((each) => each.name === name) as ToolMetadata, query),
        );
  });
  row("144, 183, 579, 586", "The most relevant result is first.", () => {
    expect(toTools(createIndex().search("create issue"))).toEqual(["create_issue", "create_ticket"]);
    const scores = createIndex()
      .search("create a repositories", { includeDisabled: true })
      .map((result) => result.relevance);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores.length).toBeGreaterThan(2);
  });
  row("145, 167, 580, 588", "A search can be kept to one server.", () => {
    expect(toTools(createIndex().search("create", { server: "jira" }))).toEqual(["create_ticket"]);
    expect(createIndex().search("create", { server: "nowhere" })).toEqual([]);
  });
  row("146, 168, 184, 579, 587", "A limit keeps the best results.", () => {
    expect(toTools(createIndex().search("create issue", { limit: 1 }))).toEqual(["create_issue"]);
    const many = createIndex(Array.from({ length: 30 }, (_, index) => tool(`part_${index}`)));
    expect(many.search("part", { limit: 25 })).toHaveLength(25);
  });
  added(
    "168",
    "Without a limit, and for 0, there are ten results.",
    "The line has no default; 001 has 10.",
    () => {
      const many = createIndex(Array.from({ length: 30 }, (_, index) => tool(`part_${index}`)));
      expect(many.search("part")).toHaveLength(10);
      expect(many.search("part", { limit: 0 })).toHaveLength(10);
    },
  );

  row("149-156, 185", "A result has server, tool, summary, relevance and tags.", async () => {
    expect(await findTypeFaults("SearchResult")).toEqual([]);
    expect(createIndex().search("create_issue")).toEqual([
      {
        server: "github",
        tool: "create_issue",
        summary: "Create a new GitHub issue",
        relevance: 1,
        tags: ["issues"],
      },
    ]);
    const [first] = await world.engine.searchTools("create github issue");
    expect(Object.keys(first ?? {})).toEqual(["server", "tool", "summary", "relevance", "tags"]);
  });
  row("158-160", "index() replaces what was indexed before.", () => {
    const engine = createIndex();
    engine.index([tool("update_page")]);
    expect(toTools(engine.search("update"))).toEqual(["update_page"]);
    expect(engine.search("create")).toEqual([]);
  });
  row("162-164", "search() takes a query and options.", async () => {
    expect(await findTypeFaults("SearchEngine", "SearchOptions")).toEqual([]);
    const options = { server: "github", limit: 1, includeDisabled: true };
    expect(toTools(createIndex().search("repo", options))).toHaveLength(1);
  });
  row("166, 169-170", "Disabled tools are found where they are asked for, and only there.", async () => {
    expect(toTools(createIndex().search("delete"))).toEqual([]);
    expect(toTools(createIndex().search("delete", { includeDisabled: true }))).toEqual(["delete_repo"]);
    const names = async (includeDisabled: boolean) =>
      toTools(await world.engine.searchTools("delete repository", { includeDisabled, limit: 3 }));
    expect(await names(false)).not.toContain("delete_repo");
    expect(await names(true)).toContain("delete_repo");
    const all = await world.engine.searchTools("repo", { includeDisabled: true });
    const scores = all.map((result) => result.relevance);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  row("174, 387-389, 404", "Case does not count, and words are what is between spaces.", () => {
    const given = { name: "Create_Issue", summary: "Makes ONE issue" };
    expect(relevance("CREATE_issue", given)).toBe(relevance("create_issue", given));
    expect(relevance("zzz one", given)).toBeCloseTo(0.3);
    expect(relevance("zzz   \t one", given)).toBeCloseTo(0.3);
  });
  // The relevance stops at 1, so the parts above it show in the order alone: a word in the name adds 0.5, in the summary 0.3.
  const rivals = (...tags: string[]): string[] => {
    const summed = tool("other", { summary: "an issue", tags });
    return toTools(createIndex([summed, tool("issue")]).search("issue"));
  };
  row(
    "176, 180, 393-396",
    "A name that holds the whole query counts 1, more than a summary with a tag.",
    () => {
      expect(relevance("te_is", { name: "create_issue" })).toBe(1);
      expect(rivals("iss")).toEqual(["issue", "other"]);
    },
  );
  row(
    "176, 398-401",
    "A summary that holds the whole query counts 0.8, with two tags more than a name.",
    () => {
      expect(relevance("new page", { name: "x", summary: "a new page" })).toBe(1);
      expect(rivals("iss", "sue")).toEqual(["other", "issue"]);
    },
  );
  row("177, 181, 403-412", "A word counts 0.5 in the name and 0.3 in the summary.", () => {
    expect(relevance("zzz issue", { name: "create_issue" })).toBeCloseTo(0.5);
    expect(relevance("zzz page", { name: "x", summary: "a page" })).toBeCloseTo(0.3);
    expect(relevance("zzz issue", { name: "issue", summary: "issue" })).toBeCloseTo(0.8);
    expect(relevance("page new zzz", { name: "x", summary: "new page" })).toBeCloseTo(0.6);
  });
  row("178, 182, 414-419", "A tag that the query holds counts 0.3, each once.", () => {
    expect(relevance("issues zzz", { tags: ["Issues"] })).toBeCloseTo(0.3);
    expect(relevance("issues github", { tags: ["issues", "github", "other"] })).toBeCloseTo(0.6);
  });
  row("179", "The scores of one tool are added.", () => {
    expect(relevance("issue page tag", { name: "issue", summary: "nothing", tags: ["tag"] })).toBeCloseTo(
      0.8,
    );
  });
  row("386, 391, 421-422", "The relevance is between 0 and 1.", async () => {
    expect(await findTypeFaults("calculateRelevance")).toEqual([]);
    expect(relevance("zzz", { name: "create", summary: "issue", tags: ["tag"] })).toBe(0);
    expect(relevance("tag create", { name: "tag create", summary: "tag create", tags: ["tag"] })).toBe(1);
  });

  const ranking =
    "The engine finds the wanted tool far more often with its own ranking, which the measurements in the README show; search.ranker: simple is the formula, and SearchEngine and calculateRelevance have it always.";
  differs("173-186, 386-422", "The engine's own search ranks by this formula.", ranking, async () => {
    const search = { ranker: "simple" };
    const simple = await createDiscoveryEngine({ servers: toEntries(["github"]) }, { options: { search } });
    try {
      const listed = (await simple.listTools("github")).map((each) => ({ ...each, tags: [...each.tags] }));
      const query = "new github zzz";
      const expected = createIndex(listed as ToolMetadata[]).search(query);
      expect(expected.length).toBeGreaterThan(1);
      const found = await simple.searchTools(query);
      const scores = (results: readonly { tool: string; relevance: number }[]) =>
        results.map((result) => [result.tool, result.relevance.toFixed(2)]);
      expect(scores(found)).toEqual(scores(expected));
    } finally {
      await simple.close();
    }
    // Words in another form are found by the engine, and not by the formula.
    const query = "creating repository issues";
    expect(calculateRelevance(tool("create_issue", { summary: "Create a new GitHub issue" }), query)).toBe(0);
    expect((await world.engine.searchTools(query))[0]?.tool).toBe("create_issue");
  });

  added(
    "174, 387",
    "Spaces around a query do not count.",
    "By the letter an empty word would match every tool.",
    () => {
      expect(createIndex().search("  zzz ")).toEqual([]);
      expect(toTools(createIndex().search(" ticket "))).toEqual(["create_ticket"]);
    },
  );
}
