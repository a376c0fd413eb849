import fc from "fast-check";
import { expect, test } from "vitest";
import { signature } from "../../../../plugins/lib/schema/signature.ts";
import { unparsable } from "../../types/_compiler.ts";
import { realCatalog } from "../../types/_real-catalog.ts";

const text = { type: "string" };

test("names the tool and its parameters, required ones first", () => {
  const properties = { body: text, repo: text, title: text };
  const inputSchema = { type: "object", properties, required: ["repo", "title"] };
  expect(signature({ name: "create_issue", inputSchema })).toBe(
    "create_issue(repo: string, title: string, body?: string)",
  );
});

test.each([
  ["no parameters", { type: "object", properties: {} }, "t()"],
  ["hardly a schema", {}, "t()"],
  ["a name that is no identifier", { properties: { "user-id": text } }, "t('user-id'?: string)"],
  [
    "a choice of objects",
    { anyOf: [{ properties: { a: text } }, { properties: { b: text } }] },
    "t(args: {a?: string} | {b?: string})",
  ],
  [
    "a reference",
    { $defs: { id: { type: "number" } }, properties: { id: { $ref: "#/$defs/id" } }, required: ["id"] },
    "t(id: number)",
  ],
])("%s", (_what, inputSchema, expected) => {
  expect(signature({ name: "t", inputSchema })).toBe(expected);
});

test("a long one loses detail first, and parameters that can be left out next", () => {
  const nested = {
    type: "object",
    properties: { first: text, second: text, third: text, fourth: text, fifth: text },
  };
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`option${index}`, nested]));
  const inputSchema = { properties: { ...properties, id: text }, required: ["id"] };
  const short = signature({ name: "t", inputSchema }, { maxLength: 300 });
  expect(short).toMatch(/^t\(id: string, option0\?: .*, \/\* \d+ more \*\/\)$/);
  expect(short.length).toBeLessThanOrEqual(310);
});

test("stays within its length for any number of parameters of any name", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { maxLength: 60 }),
      fc.integer({ min: 50, max: 500 }),
      (names, maxLength) => {
        const properties = Object.fromEntries(names.map((name) => [name, { enum: [name, 1, 2, 3] }]));
        const line = signature({ name: "t", inputSchema: { properties, required: names } }, { maxLength });
        expect(line.length).toBeLessThanOrEqual(maxLength + "t()".length);
      },
    ),
  );
});

test.runIf(realCatalog().length > 0)(
  "the parameters of real tools are what TypeScript can parse",
  async () => {
    // As the members of an object: TypeScript has no parameters with names such as `user-id`.
    const members = realCatalog().map(({ inputSchema }) =>
      signature({ name: "", inputSchema }).replace(/^\((.*)\)$/s, "{$1}"),
    );
    expect(await unparsable(members)).toEqual([]);
  },
  60_000,
);
