import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { counted, shownLine, shownLines, shownPath } from "../../../../plugins/lib/terminal/output.ts";

describe("a stranger's text", () => {
  test("is one line without anything that steers a terminal or cannot be seen", () => {
    expect(shownLine("\u001b[1mbold\u001b[0m \u202eturned\u200b\n  and\tbroken\u0000 ")).toBe(
      "bold turned and broken",
    );
    expect(shownLine("\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\")).toBe("link");
  });

  test("keeps its lines and brackets where lines are wanted", () => {
    expect(shownLines("a\r\n[1] b\n\tc\u001b[2J")).toBe("a\n[1] b\n\tc");
  });

  test("never has a control character but tab and newline", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        expect(shownLines(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
        expect(shownLine(text)).not.toMatch(/\p{C}/u);
      }),
    );
  });
});

test("a path in the home folder is shown from there", () => {
  expect(shownPath("/home/me/.cursor/mcp.json", "/home/me")).toBe("~/.cursor/mcp.json");
  expect(shownPath("/home/me", "/home/me")).toBe("/home/me");
  expect(shownPath("/home/mean/x", "/home/me")).toBe("/home/mean/x");
});

test("one thing is counted as one", () => {
  expect([0, 1, 2].map((count) => counted(count, "tool"))).toEqual(["0 tools", "1 tool", "2 tools"]);
});
