import fc from "fast-check";
import { expect, test } from "vitest";
import { fittedTo } from "../../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../../plugins/lib/tokens.ts";

const rowsOf = (count: number, length = 60) =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    summary: "what it does ".repeat(20).slice(0, length),
    enabled: true,
    tags: [],
  }));

test("a list that fits is whole, with texts as long as that leaves room for", () => {
  const rows = rowsOf(3);
  expect(fittedTo(2_000, rows, "summary")).toEqual({ shown: rows, more: 0 });
});

test("of 2,000 tools as many are shown as fit, and the others are counted", () => {
  const rows = rowsOf(2_000);
  const { shown, more } = fittedTo(2_000, rows, "summary");
  expect(estimateTokens(JSON.stringify(shown))).toBeLessThanOrEqual(2_000);
  expect(shown.length).toBeGreaterThan(40);
  expect(shown.length + more).toBe(2_000);
  expect(shown.map(({ name }) => name)).toEqual(rows.slice(0, shown.length).map(({ name }) => name));
});

test("nothing is left out uncounted, nothing goes beyond the budget, and something is always shown", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 50, max: 1_000 }),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 200 }),
      (tokens, count, length) => {
        const { shown, more } = fittedTo(tokens, rowsOf(count, length), "summary");
        expect(shown.length + more).toBe(count);
        expect(shown.length).toBeGreaterThan(0);
        if (shown.length > 1) expect(estimateTokens(JSON.stringify(shown))).toBeLessThanOrEqual(tokens + 2);
      },
    ),
  );
});
