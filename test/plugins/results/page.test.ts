import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alignToCharacter, findPageEnd } from "../../../plugins/results/page.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: fc.constantFrom("a", "é", "字", "😀", "\n", "\ud83d", "\ude00"), maxLength: 300 }),
);

describe("the pages of a string", () => {
  test("join to the string, each within its bytes and none ending within a character", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 64 }), (whole, maxBytes) => {
        const pages: string[] = [];
        for (let at = 0; at < whole.length; ) {
          const end = findPageEnd(whole, at, maxBytes);
          expect(end).toBeGreaterThan(at);
          pages.push(whole.slice(at, end));
          at = end;
        }
        expect(pages.join("")).toBe(whole);
        for (const page of pages) {
          // A single character may be larger than a page.
          if ([...page].length > 1) expect(Buffer.byteLength(page)).toBeLessThanOrEqual(maxBytes);
        }
        pages.reduce((before, page) => {
          expect(isHigh(before.at(-1)) && isLow(page[0])).toBe(false);
          return page;
        }, "");
      }),
    );
  });

  test("end with a line where one ends near the end of the page", () => {
    expect(findPageEnd(`${"a".repeat(90)}\n${"b".repeat(90)}`, 0, 100)).toBe(91);
    expect(findPageEnd(`${"a".repeat(10)}\n${"b".repeat(90)}`, 0, 100)).toBe(100);
  });

  test("are one page where all of it fits", () => {
    expect(findPageEnd("a\nb", 0, 100)).toBe(3);
    expect(findPageEnd("", 0, 100)).toBe(0);
  });
});

test("an offset between the halves of a surrogate pair moves before it", () => {
  expect(alignToCharacter("a😀b", 2)).toBe(1);
  expect([0, 1, 3, 4, 99].map((at) => alignToCharacter("a😀b", at))).toEqual([0, 1, 3, 4, 4]);
});

function isHigh(unit: string | undefined): boolean {
  return unit !== undefined && unit >= "\ud800" && unit < "\udc00";
}

function isLow(unit: string | undefined): boolean {
  return unit !== undefined && unit >= "\udc00" && unit < "\ue000";
}
