import fc from "fast-check";
import { expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { estimateTokens } from "../../../plugins/lib/tokens.ts";
import { fitRows, packTools } from "../../../presets/anygpt/pack.ts";

const createRows = (count: number, length = 60) =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    summary: "what it does ".repeat(20).slice(0, length),
    enabled: true,
    tags: [],
  }));

test("a list that fits is whole, with descriptions as long as the budget allows", () => {
  const rows = createRows(3);
  expect(fitRows(2_000, rows, "summary")).toEqual({ rows, more: 0 });
});

test("of 2,000 tools as many are listed as fit, and the others are counted", () => {
  const rows = createRows(2_000);
  const { rows: fitted, more } = fitRows(2_000, rows, "summary");
  expect(estimateTokens(JSON.stringify(fitted))).toBeLessThanOrEqual(2_000);
  expect(fitted.length).toBeGreaterThan(40);
  expect(fitted.length + more).toBe(2_000);
  expect(fitted.map(({ name }) => name)).toEqual(rows.slice(0, fitted.length).map(({ name }) => name));
});

test("every omitted tool is counted, the budget holds, and at least one tool is listed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 50, max: 1_000 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 200 }),
      (tokens, count, length) => {
        const { rows: fitted, more } = fitRows(tokens, createRows(count, length), "summary");
        expect(fitted.length + more).toBe(count);
        expect(fitted.length).toBeGreaterThan(0);
        if (fitted.length > 1) expect(estimateTokens(JSON.stringify(fitted))).toBeLessThanOrEqual(tokens + 2);
      },
    ),
  );
});

test("the tools of a server are packed once, until its list is another one", () => {
  const tools = createRows(3).map(
    (row) => ({ ...row, description: row.summary, enabled: row.name !== "tool_1" }) as unknown as Tool,
  );
  const first = packTools(tools, false, 2_000);
  expect(first.rows.map(({ name }) => name)).toEqual(["tool_0", "tool_2"]);
  expect(packTools(tools, false, 2_000)).toBe(first);
  expect(packTools(tools, true, 2_000).rows).toHaveLength(3);
  expect(packTools([...tools], false, 2_000)).not.toBe(first);
});
