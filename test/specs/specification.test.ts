import { describe, expect, test } from "vitest";
import { checkLines, parseLines } from "./lines.ts";
import { replaceSection } from "./page.ts";

describe("lines of rows", () => {
  test("are numbers and ranges", () => {
    expect(parseLines("3")).toEqual([3]);
    expect(parseLines("12-14, 20")).toEqual([12, 13, 14, 20]);
  });

  test.each(["", "x", "0", "5-3", "1-2-3", "4,"])("are not %j", (lines) => {
    expect(() => parseLines(lines)).toThrow(`"${lines}" are no lines`);
  });

  test("cover every line that states something, once as row or as prose", () => {
    const text = "# Title\n\n```ts\na\n```\n| x |\n|---|\n| y |";
    expect(checkLines(text, ["4-6", "8"], ["1"])).toEqual([]);
    expect(checkLines(text, ["4-6", "9"], ["1, 4"])).toEqual([
      "9: there is no such line",
      "4: in a row, and marked as prose",
      "8: in no row, and not marked as prose: | y |",
    ]);
  });
});

test("the page has one section a specification, and a run replaces only its own", () => {
  const first = replaceSection("", "003", [
    { lines: "9", statement: "B | b.", outcome: "differs", why: "It is better." },
    { lines: "2-3", statement: "A.", outcome: "holds" },
  ]);
  expect(first).toContain(`## 003: the discovery server

2 rows: 1 hold, 1 differ on purpose, 0 are added.

| lines | statement | outcome |
|---|---|---|
| 2-3 | A. | holds |
| 9 | B \\| b. | differs: It is better. |
`);
  expect(first.match(/^## \d+/gm)).toEqual(["## 000", "## 001", "## 002", "## 003", "## 004"]);
  const second = replaceSection(first, "001", [{ lines: "1", statement: "C.", outcome: "holds" }]);
  expect(second).toContain("| 2-3 | A. | holds |");
  expect(second).toContain("| 1 | C. | holds |");
  expect(replaceSection(second, "001", [])).toBe(first);
});
