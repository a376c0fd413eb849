import { expect, test } from "vitest";
import { textResult } from "../../../core/mod.ts";
import { formatResult } from "../../../plugins/cli/format-result.ts";

test.each([
  [
    "a flat object",
    textResult('{"issue_number":123,"url":"https://example.com/123","title":"Bug report","isOpen":true}'),
    "Issue number: 123\nURL: https://example.com/123\nTitle: Bug report\nIs open: true",
  ],
  [
    "structured content without text",
    { content: [], structuredContent: { htmlUrl: "x", closed_at: null } },
    "HTML URL: x\nClosed at: null",
  ],
  ["a value of several lines", textResult('{"body":"one\\ntwo"}'), "Body: one\n  two"],
  ["a nested object", textResult('{"a":{"b":1}}'), '{"a":{"b":1}}'],
  [
    "a nested object without text",
    { content: [], structuredContent: { a: [1] } },
    '{\n  "a": [\n    1\n  ]\n}',
  ],
  [
    "an id that parsing would change",
    textResult('{"id":12345678901234567890}'),
    '{"id":12345678901234567890}',
  ],
  ["text", textResult("Issue #123 created"), "Issue #123 created"],
  ["an empty object", textResult("{}"), "{}"],
  [
    "a text with structured content of which it has one value",
    {
      content: [{ type: "text" as const, text: "Issue #123 created" }],
      structuredContent: { issue_number: 123, part: 12, url: "https://example.com/123", state: "open" },
    },
    "Issue #123 created\nPart: 12\nURL: https://example.com/123\nState: open",
  ],
  [
    "structured content that is the text too",
    { content: [{ type: "text" as const, text: '{"a":1,"b":"x"}' }], structuredContent: { a: 1, b: "x" } },
    "A: 1\nB: x",
  ],
  ["nothing", { content: [] }, "(nothing)"],
])("%s is printed for a person to read", (_what, result, text) => {
  expect(formatResult(result)).toBe(text);
});
