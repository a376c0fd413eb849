import fc from "fast-check";
import { expect, test } from "vitest";
import { pairing } from "../../../plugins/guard/_letter-pairs.ts";
import { wordPattern } from "../../../plugins/guard/_word-pattern.ts";

/** One for each piece of syntax that the signs use, of letters that are few enough to be met by chance. */
const sources = [
  "ab",
  "ab|ba",
  "abc?d",
  "ab*a|cab+",
  "a(?:bb|cc)d",
  "a(?:bb|c.c)+|(?:ab)?cd",
  "(?:ab|a)(?:cd|d{2}){0,2}ba",
  "(?:ab|[cd]){2,3}a",
  "(?<!a)bc|cd(?!a)|ab(?=c)",
  "(?<=d (?:a ){0,2})bc",
  "\\bab\\b cd",
  "[^]{0,3}?ab[^.;]{0,4}cd",
  "[\\]a]bc|[^\\]]cda",
  "a\\.b|c\\|d|\\$\\(a",
  "(?:^|d )ab:",
  "\\w+ab\\s*cd",
  "a\\u0062cd|\\u{61}?bcd",
  "(?:a(?:b|c(?:d|aa)) ){1,2}bb",
  "(ab|cd)da",
];

const pairedText = pairing();
const texts = fc.string({ unit: fc.constantFrom(..."aabbccdd .:|$(]"), maxLength: 24 });

test.each(sources)("a pattern that looks for its words first finds what it finds without: %s", (source) => {
  const isIn = wordPattern(source);
  const pattern = new RegExp(source);
  fc.assert(
    fc.property(texts, (text) => {
      expect(isIn(pairedText(text))).toBe(pattern.test(text));
    }),
    { numRuns: 500 },
  );
});

test("flags are kept", () => {
  expect(wordPattern("\\p{L}{2}ж", "u")(pairedText("ёжж"))).toBe(true);
});

test("texts without a pair of letters are looked at too", () => {
  expect(wordPattern("^a?$")(pairedText(""))).toBe(true);
  expect(wordPattern("a")(pairedText("a"))).toBe(true);
});
