import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../core/mod.ts";
import { compactType, signature } from "../../../../plugins/lib/schema/signature.ts";
import { anySchema, endlessSchemas } from "../../../support/any-schema.ts";
import { unparsable } from "../../../support/compiler.ts";
import { realCatalog } from "../../../support/real-catalog.ts";

const text = { type: "string" };
const tree = {
  $defs: {
    node: {
      type: "object",
      properties: { name: text, children: { type: "array", items: { $ref: "#/$defs/node" } } },
    },
  },
  $ref: "#/$defs/node",
};

/** A schema, its type, and what it shows. */
const cases: readonly (readonly [what: string, schema: unknown, type: string])[] = [
  ["a text", text, "string"],
  ["a whole number", { type: "integer" }, "number"],
  ["several types", { type: ["string", "number", "null"] }, "string | number | null"],
  ["a type in capitals", { type: "STRING" }, "string"],
  ["nullable, as OpenAPI says it", { type: "string", nullable: true }, "string | null"],
  ["a type that does not exist", { type: "file" }, "unknown"],
  ["nothing", {}, "unknown"],
  ["true", true, "unknown"],
  ["false", false, "never"],
  ["no schema at all", 42, "unknown"],
  ["only words for people", { title: "A", description: "B", default: 1 }, "unknown"],
  ["a type told by its limits", { minimum: 1 }, "number"],
  ["a text told by its pattern", { pattern: "^a" }, "string"],
  ["an enum", { type: "string", enum: ["asc", "desc"] }, "'asc' | 'desc'"],
  ["an enum of everything", { enum: ["a", 1, -2.5, true, null] }, "'a' | 1 | -2.5 | true | null"],
  ["an enum that repeats itself", { enum: ["a", "a"] }, "'a'"],
  ["an empty enum, which no author means", { type: "string", enum: [] }, "string"],
  ["an enum of objects", { enum: [{ a: 1 }, [1]] }, "object | unknown[]"],
  ["a constant", { const: "x" }, "'x'"],
  ["quotes and lines in a text", { const: `it's "a\\b"\n\u2028` }, `'it\\'s "a\\\\b"\\n\\u2028'`],
  ["a text too long to repeat", { enum: ["a".repeat(100), "b"] }, "string | 'b'"],
  ["a list", { type: "array", items: text }, "string[]"],
  ["a list of a choice", { type: "array", items: { type: ["string", "null"] } }, "(string | null)[]"],
  ["a list of a text with a bar in it", { type: "array", items: { const: "a|b" } }, "'a|b'[]"],
  ["a list of anything", { type: "array" }, "unknown[]"],
  ["a pair", { prefixItems: [text, { type: "number" }] }, "[string, number]"],
  ["a pair and more", { prefixItems: [text], items: { type: "number" } }, "[string, ...number[]]"],
  ["a pair of an older draft", { type: "array", items: [text, text] }, "[string, string]"],
  [
    "an object",
    { properties: { a: text, "b-c": { type: "number" } }, required: ["a"] },
    "{a: string, 'b-c'?: number}",
  ],
  ["an object of anything", { type: "object" }, "object"],
  ["an object of nothing", { type: "object", additionalProperties: false }, "{}"],
  [
    "an object by keys",
    { type: "object", additionalProperties: { type: "number" } },
    "Record<string, number>",
  ],
  ["an object by patterns", { patternProperties: { "^x": text } }, "Record<string, string>"],
  [
    "an object and other keys",
    { properties: { a: text }, additionalProperties: text },
    "{a?: string, [key: string]: string}",
  ],
  [
    "objects within",
    { properties: { a: { properties: { b: { type: "array", items: { properties: { c: text } } } } } } },
    "{a?: {b?: {c?: string}[]}}",
  ],
  ["a choice", { anyOf: [text, { type: "number" }] }, "string | number"],
  ["a choice of alike ones", { oneOf: [text, { type: "string", format: "date" }] }, "string"],
  [
    "a choice that only asks for keys",
    { type: "object", properties: { a: text }, anyOf: [{ required: ["a"] }] },
    "{a?: string}",
  ],
  [
    "all at once",
    { allOf: [{ properties: { a: text } }, { properties: { b: text } }] },
    "{a?: string} & {b?: string}",
  ],
  [
    "all of a choice",
    { allOf: [{ type: ["string", "null"] }, { properties: { b: text } }] },
    "(string | null) & {b?: string}",
  ],
  ["a bare type beside a choice", { type: "string", anyOf: [{ const: "a" }, { const: "b" }] }, "'a' | 'b'"],
  ["a reference", { $defs: { a: text }, $ref: "#/$defs/a" }, "string"],
  [
    "a reference into properties",
    { properties: { a: text, b: { $ref: "#/properties/a" } } },
    "{a?: string, b?: string}",
  ],
  ["a reference with odd signs", { $defs: { "a/b c": text }, $ref: "#/$defs/a~1b%20c" }, "string"],
  ["a reference to nowhere", { $ref: "#/$defs/none" }, "unknown"],
  ["a reference to another document", { $ref: "https://example.com/a.json" }, "unknown"],
  [
    "a reference that says more",
    { $defs: { a: text }, properties: { x: { $ref: "#/$defs/a", description: "y" } } },
    "{x?: string}",
  ],
  ["a recursion", tree, "{name?: string, children?: object[]}"],
  ["a reference to itself", { $ref: "#" }, "unknown"],
];

test.each(cases)("%s", (_what, schema, type) => {
  expect(compactType(schema)).toBe(type);
});

test("references lead into the schema that is named as the root", () => {
  expect(compactType({ $ref: "#/$defs/a" }, { root: { $defs: { a: text } } })).toBe("string");
});

describe("a schema beyond the limits", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${index}`, text]));

  test("is counted, and required properties come first", () => {
    const type = compactType({ properties: many, required: ["field49"] }, { maxLength: 100 });
    expect(type).toMatch(/^\{field49: string, field0\?: string, .*, \/\* \d+ more \*\/\}$/);
    expect(type.length).toBeLessThanOrEqual(100);
  });

  test("of an enum is counted, and its type named", () => {
    const values = Array.from({ length: 90 }, (_, index) => `value-${index}`);
    expect(compactType({ enum: values }, { maxLength: 80 })).toMatch(
      /^'value-0' \| .* \| \/\* \d+ more \*\/ string$/,
    );
  });

  test("of the deepest levels is named by its kind", () => {
    const deep = { properties: { a: { properties: { b: { type: "array", items: { properties: many } } } } } };
    expect(compactType(deep, { maxLength: 60 })).toBe("{a?: {b?: object[]}}");
  });
});

test("any schema gives a type of bounded length", () => {
  fc.assert(
    fc.property(anySchema, fc.integer({ min: 60, max: 400 }), (schema, maxLength) => {
      expect(compactType(schema, { maxLength }).length).toBeLessThanOrEqual(maxLength);
    }),
    { numRuns: 150 },
  );
});

test("schemas that multiply, or have no end, take no time", () => {
  const begun = performance.now();
  for (const schema of endlessSchemas()) {
    expect(compactType(schema)).toEqual(expect.any(String));
  }
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test("TypeScript can parse every signature", async () => {
  const made = fc.sample(anySchema, 250).map((schema) => compactType(schema, { maxLength: 200 }));
  const short = cases.map(([, schema]) => compactType(schema, { maxLength: 60 }));
  const real = realCatalog().flatMap(({ inputSchema, outputSchema }, index) => [
    compactType(inputSchema),
    ...(index % 10 === 0 ? [60, 5_000].map((maxLength) => compactType(inputSchema, { maxLength })) : []),
    ...(outputSchema ? [compactType(outputSchema)] : []),
  ]);
  expect(await unparsable([...cases.map(([, , type]) => type), ...short, ...made, ...real])).toEqual([]);
}, 60_000);

test("the check for what TypeScript can parse finds what it cannot", async () => {
  expect(await unparsable(["string", "{a: }", "number"])).toEqual([expect.stringContaining("{a: }")]);
});

test.runIf(realCatalog().length > 0)("real parameters are unknown only where they say nothing", () => {
  const telling = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items"];
  for (const { server, name, inputSchema } of realCatalog()) {
    const properties = Object.entries((inputSchema["properties"] ?? {}) as Record<string, JsonObject>);
    const unknown = properties
      .filter(([, schema]) => compactType(schema, { root: inputSchema }) === "unknown")
      .filter(([, schema]) => telling.some((word) => word in schema && schema[word] !== "any"));
    expect([server, name, unknown]).toEqual([server, name, []]);
  }
});

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
