import { type Schema, Validator } from "@cfworker/json-schema";
import { expect, test } from "vitest";
import { createExample } from "../../../../plugins/lib/schema/example.ts";
import { realCatalog } from "../../../support/real-catalog.ts";

const text = { type: "string" };
const object = (properties: object, required: readonly string[] = Object.keys(properties)): object => ({
  type: "object",
  properties,
  required,
});

test.each([
  ["the author's example", object({ repo: { ...text, examples: ["owner/repo"] } }), { repo: "owner/repo" }],
  [
    "an example as OpenAPI has it",
    object({ repo: { ...text, example: "owner/repo" } }),
    { repo: "owner/repo" },
  ],
  ["an example of the whole", { ...object({ a: text }), examples: [{ a: "b" }] }, { a: "b" }],
  ["an optional one that has an example", object({ a: { ...text, examples: ["x"] } }, []), { a: "x" }],
  ["a default", object({ limit: { type: "integer", default: 10 } }), { limit: 10 }],
  ["the first of an enum", object({ sort: { enum: ["asc", "desc"] } }), { sort: "asc" }],
  [
    "an example in the description",
    object({ q: { ...text, description: "A query (e.g. 'cats')" } }),
    { q: "cats" },
  ],
  ["a format", object({ to: { ...text, format: "email" } }), { to: "user@example.com" }],
  ["a name that tells", object({ homepage_url: text }), { homepage_url: "https://example.com" }],
  ["a pattern", object({ day: { ...text, pattern: "^\\d{4}-\\d{2}-\\d{2}$" } }), { day: "2025-01-31" }],
  [
    "a pattern that looks ahead, with a format",
    object({ to: { ...text, format: "email", pattern: "^(?!x).+$" } }),
    { to: "user@example.com" },
  ],
  ["limits of a number", object({ n: { type: "integer", minimum: 5, maximum: 9 } }), { n: 5 }],
  ["a number below zero", object({ n: { type: "number", maximum: -3 } }), { n: -3 }],
  [
    "a number beyond a bound",
    object({ n: { type: "integer", exclusiveMinimum: 7, multipleOf: 5 } }),
    { n: 10 },
  ],
  ["a list", object({ ids: { type: "array", items: { type: "integer" }, minItems: 2 } }), { ids: [1, 1] }],
  ["what is within", object({ a: object({ b: { type: "boolean" } }) }), { a: { b: true } }],
  ["a choice", object({ a: { anyOf: [{ type: "null" }, { type: "number" }] } }), { a: 1 }],
  ["a reference", { $defs: { id: { const: 7 } }, ...object({ id: { $ref: "#/$defs/id" } }) }, { id: 7 }],
  ["all at once", { allOf: [object({ a: { const: 1 } }), object({ b: { const: 2 } })] }, { a: 1, b: 2 }],
  ["a length", object({ code: { ...text, minLength: 6, maxLength: 6 } }), { code: "codeco" }],
  ["nothing to say", object({}), {}],
])("%s", async (_what, schema, expected) => {
  expect(await createExample(schema)).toEqual(expected);
});

test("a default that violates its own schema is not used", async () => {
  expect(await createExample(object({ n: { type: "integer", minimum: 1, default: 0 } }))).toEqual({ n: 1 });
});

test.each([
  ["a pattern that nothing known matches", object({ x: { ...text, pattern: "^zz-\\d+-qq$" } })],
  ["a pattern that would stall a backtracking engine", object({ x: { ...text, pattern: "^(a+)+$!" } })],
  ["what contradicts itself", object({ x: { type: "integer", minimum: 2, maximum: 1 } })],
  ["a recursion without an end", { $ref: "#/$defs/a", $defs: { a: object({ a: { $ref: "#/$defs/a" } }) } }],
  ["no schema", "string"],
])("has none for %s", async (_what, schema) => {
  expect(await createExample(schema)).toBeUndefined();
});

test.runIf(realCatalog().length > 0)(
  "nearly every real tool has one, and its schema accepts it",
  async () => {
    let missing = 0;
    for (const { server, name, inputSchema } of realCatalog()) {
      const example = await createExample(inputSchema);
      if (example === undefined) missing++;
      else
        expect([
          server,
          name,
          new Validator(inputSchema as Schema, "2020-12").validate(example).valid,
        ]).toEqual([server, name, true]);
    }
    expect(missing / realCatalog().length).toBeLessThan(0.005);
  },
  60_000,
);
