import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { collectTools, type ListedTool } from "../../playground/labelled/collect.ts";
import { readLabelledSet } from "../../playground/labelled/labelled-set.ts";
import type { LabelledQuery } from "../../playground/protocol.ts";

const { tools, queries, nothing } = await readLabelledSet();
const byId = new Map(tools.map((tool) => [tool.id, tool]));

test("the tools are those that the servers list (npx vitest run test/playground/labeled.test.ts -u writes them)", async () => {
  const lines = (await collectTools()).map((tool) => `${JSON.stringify(tool)}\n`);
  await expect(lines.join("")).toMatchFileSnapshot("../../playground/labelled/tools.jsonl");
}, 60_000);

describe("the labels", () => {
  test("no query is asked twice, not even in other upper case or with other signs", () => {
    const bare = [...queries, ...nothing].map(({ query }) => splitWords(query).join(" "));
    expect(repeated(bare)).toEqual([]);
  });

  test("every relevant tool exists and is named once", () => {
    for (const { query, relevant } of queries) {
      expect([query, relevant.filter((id) => !byId.has(id))]).toEqual([query, []]);
      expect([query, repeated(relevant)]).toEqual([query, []]);
      expect([query, relevant.length > 0]).toEqual([query, true]);
    }
    expect(nothing.flatMap(({ relevant }) => relevant)).toEqual([]);
  });

  test("every tool is relevant to a query", () => {
    const wanted = new Set(queries.flatMap(({ relevant }) => relevant));
    expect(tools.map(({ id }) => id).filter((id) => !wanted.has(id))).toEqual([]);
  });

  test("equivalent tools of two servers are both relevant, unless the query names one", () => {
    const twins = (id: string): string[] => {
      const tool = byId.get(id);
      return tools
        .filter(({ name, description }) => name === tool?.name && description === tool.description)
        .map((twin) => twin.id);
    };
    const oneSided = queries.filter(
      ({ query, relevant }) =>
        !query.includes("memory server") && relevant.flatMap(twins).some((id) => !relevant.includes(id)),
    );
    expect(oneSided).toEqual([]);
    expect(twins("memory:read_graph")).toHaveLength(2);
  });

  test("there are as many of each kind as the README says, and no other kind", async () => {
    const readme = await readFile(new URL("../../playground/labelled/README.md", import.meta.url), "utf8");
    const rows = [...readme.matchAll(/^\| `([a-z-]+)` \| (\d+) \|/gm)];
    const said = Object.fromEntries(rows.map(([, kind, count]) => [kind, Number(count)]));
    expect(countKinds([...queries, ...nothing])).toEqual(said);
    expect(Object.keys(countKinds(queries))).toHaveLength(3);
    expect(Object.keys(countKinds(nothing))).toHaveLength(3);
    expect(queries.length).toBeGreaterThanOrEqual(200);
    expect(nothing.length).toBeGreaterThanOrEqual(120);
  });
});

describe("the words", () => {
  const ofKind = (kind: string): LabelledQuery[] =>
    [...queries, ...nothing].filter((each) => each.kind === kind);
  const labelled = (relevant: readonly string[]): ListedTool[] =>
    relevant.flatMap((id) => byId.get(id) ?? []);
  const names = tools.map(({ name }) => name).join(" ");

  test("the check knows words in other forms, within identifiers, and shortened", () => {
    expect(shared("searching Directories", "directory_search")).toEqual(["searching", "directories"]);
    expect(shared("repo", "repositories")).toEqual(["repo"]);
    expect(shared("what is the time", "currentTime of what is the")).toEqual(["time"]);
    expect(shared("committed", "commits")).toEqual(["committed"]);
    expect(shared("a cat", "concatenate")).toEqual([]);
  });

  test("a query of the kind no-shared-word shares none with its tools", () => {
    const wrong = ofKind("no-shared-word").flatMap(({ query, relevant }) => {
      const found = labelled(relevant).flatMap((tool) => shared(query, joinText(tool)));
      return found.length > 0 ? [[query, ...found]] : [];
    });
    expect(wrong).toEqual([]);
  });

  test("a third of the queries or more are of that kind", () => {
    expect(ofKind("no-shared-word").length).toBeGreaterThanOrEqual(queries.length / 3);
  });

  test("a query of the kind shared-words shares one with one of its tools", () => {
    const wrong = ofKind("shared-words").filter(({ query, relevant }) =>
      labelled(relevant).every((tool) => shared(query, joinText(tool)).length === 0),
    );
    expect(wrong).toEqual([]);
  });

  test("of the queries without an answer, near ones have a word of a tool name, far ones do not", () => {
    expect(ofKind("near").filter(({ query }) => shared(query, names).length === 0)).toEqual([]);
    expect(ofKind("far").flatMap(({ query }) => shared(query, names).map((word) => [query, word]))).toEqual(
      [],
    );
  });
});

function repeated(list: readonly string[]): string[] {
  return list.filter((each, index) => list.indexOf(each) !== index);
}

function countKinds(list: readonly LabelledQuery[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind = "none" } of list) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

// The helpers below are simpler than the rankers' own, and find more words alike: the set must not
// depend on what it is there to judge.
const functionWords = new Set(
  `a about all also am an and any are as at be before been but by can could did do does don for from had has
  have he her here his how i if in into is it its ll may me my of off on onto or our out over s should so t that
  the their them then there these they this those to under until up us ve was we what when where which who
  whoever why will with without would yet you your`.split(/\s+/),
);
const endings = /(?:ations?|ments?|ings?|ions?|ies|ers?|ors?|ed|es|ly|al|s|e|y)$/;

/** The words of the text that are also, in whatever form, words of the other. */
function shared(text: string, other: string): string[] {
  const stems = splitWords(other).map(toStem);
  return splitWords(text).filter((word) => stems.some((stem) => isAlike(toStem(word), stem)));
}

function splitWords(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "" && !functionWords.has(word));
}

function toStem(word: string): string {
  let stem = word;
  for (
    let cut = stem.replace(endings, "");
    cut.length >= 3 && cut !== stem;
    cut = stem.replace(endings, "")
  ) {
    stem = cut;
  }
  return stem.replace(/([^aeiou])\1$/, "$1");
}

function isAlike(one: string, other: string): boolean {
  if (one === other) return true;
  return Math.min(one.length, other.length) >= 4 && (one.startsWith(other) || other.startsWith(one));
}

/** All that a tool says of itself: its server, name and description, and its parameters and theirs. */
function joinText({ server, name, description = "", inputSchema }: ListedTool): string {
  return [server, name, description, ...schemaTexts(inputSchema)].join(" ");
}

function schemaTexts(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key === "description" && typeof value === "string") return [value];
    if (key === "properties") return [...Object.keys(value), ...schemaTexts({ ...value, description: "" })];
    return schemaTexts(value);
  });
}
