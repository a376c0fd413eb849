import { expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { simpleRanker } from "../../../plugins/search/simple.ts";
import { take, testRanker, tool } from "../../contracts/ranker.ts";

testRanker("simpleRanker", simpleRanker);

/** The formula as the specification prints it, before the sum is cut off at 1. */
function specified({ name, description = "", tags }: Tool, query: string): number {
  const queryLower = query.toLowerCase();
  let score = 0;
  if (name.toLowerCase().includes(queryLower)) score += 1.0;
  if (description.toLowerCase().includes(queryLower)) score += 0.8;
  for (const token of queryLower.split(/\s+/)) {
    if (name.toLowerCase().includes(token)) score += 0.5;
    if (description.toLowerCase().includes(token)) score += 0.3;
  }
  for (const tag of tags) if (queryLower.includes(tag.toLowerCase())) score += 0.3;
  return score;
}

async function estimateRelevance(one: Tool, query: string): Promise<number | undefined> {
  const ranker = simpleRanker();
  take(ranker, [one]);
  return (await ranker.rank(query)).hits[0]?.relevance;
}

test.each([
  ["a tag in the query", tool("s:x", "", ["Disk"]), "clean the disk", 0.3],
  ["one word in the summary", tool("s:x", "Reads a file."), "delete file", 0.3],
  ["two words in the summary", tool("s:x", "Reads a file."), "file reads", 0.6],
  ["one word in the name", tool("s:read_file"), "delete file", 0.5],
  ["a word in the name and in the summary", tool("s:read_file", "Reads a file."), "delete file", 0.8],
  ["the query in the summary", tool("s:x", "Reads a file."), "a file", 1],
  ["the query in the name", tool("s:read_file"), "read_file", 1],
  ["two tags", tool("s:x", "", ["disk", "clean"]), "clean the disk", 0.6],
  ["a part of a word", tool("s:readfile"), "delete eadf", 0.5],
])("%s counts as the specification says", async (_what, one, query, relevance) => {
  expect(await estimateRelevance(one, query)).toBeCloseTo(relevance, 10);
  expect(await estimateRelevance(one, query)).toBeCloseTo(Math.min(1, specified(one, query)), 10);
});

test("tools whose relevance is cut off at 1 are still in the order of the full sum", async () => {
  const ranker = simpleRanker();
  const tools = [
    tool("a:read", "Reads."),
    tool("b:read_file", "Reads a file."),
    tool("c:read_file", "Reads a file. Says: read file."),
  ];
  take(ranker, tools);
  const { hits } = await ranker.rank("read file");
  expect(hits.map((hit) => hit.tool.id)).toEqual(["c:read_file", "b:read_file", "a:read"]);
  expect(hits.slice(0, 2).map((hit) => hit.relevance)).toEqual([1, 1]);
  const sums = hits.map((hit) => specified(hit.tool, "read file"));
  expect(sums).toEqual(sums.toSorted((a, b) => b - a));
});

test("equal tools are in the order of their ids", async () => {
  const ranker = simpleRanker();
  take(ranker, [tool("b:read"), tool("a:read"), tool("c:read")]);
  expect((await ranker.rank("read")).hits.map((hit) => hit.tool.id)).toEqual(["a:read", "b:read", "c:read"]);
});
