import { readFile } from "node:fs/promises";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { findPart } from "./bench/_readme.ts";
import { tellStory } from "./bench/_story.ts";
import { collectedTools, detailsTable, ownServersTools } from "./bench/details.ts";
import { storyTokens, transcript } from "./bench/transcript.ts";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
const tokens = (text: string): number => encode(text).length;

test("an agent reads README.md with one server and creates an issue with another, knowing neither", async () => {
  const story = await tellStory();
  const { steps, kept, tools, directTools } = story;
  expect(steps.map(({ tool }) => tool)).toEqual([
    "search_tools",
    "get_tool_details",
    "execute_tool",
    "search_tools",
    "get_tool_details",
    "execute_tool",
  ]);
  const [, , reading, , , creating] = steps;
  expect(reading?.answer).toContain("# Weather station\n\nReads temperature");
  expect(JSON.parse(creating?.answer ?? "")).toMatchObject({ requestId: "req-1", totalTasks: 1 });
  expect(kept).toMatchObject({
    requests: [{ requestId: "req-1", tasks: [{ id: "task-1", title: "Document how to add a sensor" }] }],
  });

  const taken = steps.map(({ answer }) => tokens(answer));
  for (const index of [0, 3]) expect(taken[index]).toBeLessThanOrEqual(200);
  for (const index of [1, 4]) expect(taken[index]).toBeLessThanOrEqual(100);
  expect(tokens(tools)).toBeLessThanOrEqual(400);
  // The assumptions of the specification.
  expect(storyTokens(story)).toBeLessThan(1600);
  expect(tokens(directTools)).toBeGreaterThan(10 * tokens(tools));

  const recorded = findPart("transcript").exec(readme)?.[0];
  expect(recorded, 'The README is behind: run "npm run record -- --write".').toBe(
    `\`\`\`text\n${transcript(story)}\n\`\`\``,
  );
}, 60_000);

describe("the README's table of what details cost", () => {
  const recorded = parseTable(findPart("details").exec(readme)?.[0] ?? "");

  test("has each style, the shortest first", () => {
    expect(recorded.map(({ style }) => style)).toEqual(["signature", "parameters", "schema"]);
    const medians = recorded.map(({ median }) => median);
    expect(medians).toEqual(medians.toSorted((a, b) => a - b));
  });

  test.skipIf(collectedTools().length === 0)(
    "is what the collection of real tools gives",
    async () => {
      // A tenth of it, since all of it takes its time.
      const some = collectedTools().filter((_, index) => index % 10 === 0);
      for (const [index, { median, most }] of parseTable(await detailsTable(some)).entries()) {
        expect(median / Number(recorded[index]?.median)).toBeCloseTo(1, 1);
        expect(most / Number(recorded[index]?.most)).toBeCloseTo(1, 1);
      }
    },
    60_000,
  );

  test("can be made of the servers that come with the project", async () => {
    const table = await detailsTable(await ownServersTools());
    expect(parseTable(table)).toHaveLength(3);
    expect(table).toMatch(/over \d{2} tools of 7 real servers\.$/);
  }, 60_000);
});

function parseTable(table: string): { style: string; median: number; most: number }[] {
  return [...table.matchAll(/^\| `"(\w+)"` .* (\d+) \| (\d+) \|$/gm)].map(([, style, median, most]) => ({
    style: String(style),
    median: Number(median),
    most: Number(most),
  }));
}
