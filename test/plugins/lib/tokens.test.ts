import fc from "fast-check";
import { expect, test } from "vitest";
import { estimateByPattern, estimateTokens } from "../../../plugins/lib/tokens.ts";

test("estimates an ASCII string as the pattern for all scripts does", () => {
  const letters = fc.constantFrom(..."aBcXYZz019 _-.,:;\"'{}[]()/\\\n\r\t\v\f\0\x7f");
  const plain = fc.oneof(
    fc.string({ unit: letters, maxLength: 60 }),
    fc.string({ unit: "binary-ascii", maxLength: 60 }),
    fc.json().filter((text) => /^[\0-\x7f]*$/.test(text)),
  );
  fc.assert(
    fc.property(plain, (text) => {
      expect(estimateTokens(text)).toBe(estimateByPattern(text));
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["", 0],
  ["read a file", 3.4],
  ["Größe", 1.2],
  ["搜索", 2],
])("%j takes about %d", (text, tokens) => {
  expect(estimateTokens(text)).toBeCloseTo(tokens, 5);
});
