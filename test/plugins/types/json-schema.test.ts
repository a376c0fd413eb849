import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { createExample } from "../../../plugins/lib/schema/example.ts";
import { jsonSchema, normalizeSchema } from "../../../plugins/types/json-schema.ts";
import { manifest } from "../../contracts/type-emitter.ts";
import { endlessSchemas, sampleSchemas } from "../../support/any-schema.ts";
import { realCatalog } from "../../support/real-catalog.ts";
import { validValues } from "./_valid-values.ts";

const text = { type: "string" };
const draft4 = "http://json-schema.org/draft-04/schema#";

test.each<[what: string, schema: unknown, expected: object]>([
  [
    "the dialect is always the same, and not told",
    { $schema: draft4, $id: "https://a.example/b", type: "string" },
    text,
  ],
  ["a list of one type is that type", { type: ["string"] }, text],
  [
    "types are sorted, each once, and in small letters",
    { type: ["STRING", "null", "string"] },
    { type: ["null", "string"] },
  ],
  ["a whole number is a number", { type: ["integer", "number"] }, { type: "number" }],
  ["a type that does not exist is gone", { type: ["string", "file"] }, text],
  ["any type says nothing", { type: "any" }, {}],
  ["nullable of OpenAPI", { type: "string", nullable: true }, { type: ["null", "string"] }],
  [
    "nullable of an enum",
    { type: "string", enum: ["a", "b"], nullable: true },
    { type: ["null", "string"], enum: ["a", "b", null] },
  ],
  ["nullable of an enum without a type", { enum: ["a"], nullable: true }, { enum: ["a", null] }],
  [
    "nullable of a reference",
    { $defs: { a: text }, $ref: "#/$defs/a", nullable: true },
    { $defs: { a: text }, anyOf: [{ $ref: "#/$defs/a" }, { type: "null" }] },
  ],
  ["an enum of one is a constant", { enum: ["a", "a"] }, { const: "a" }],
  [
    "an enum says each value once, whatever the order of its keys",
    { enum: [{ a: 1, b: 2 }, { b: 2, a: 1 }, 1] },
    { enum: [{ a: 1, b: 2 }, 1] },
  ],
  ["an empty enum is removed", { type: "string", enum: [] }, text],
  [
    "required names are sorted, each once",
    { type: "object", required: ["b", "a", "b"] },
    { type: "object", required: ["a", "b"] },
  ],
  ["what is required of nothing is gone", { type: "object", required: [] }, { type: "object" }],
  [
    "an excluded bound of draft 4",
    { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { exclusiveMinimum: 1, maximum: 9 },
  ],
  [
    "definitions of older drafts",
    { definitions: { a: text }, items: { $ref: "#/definitions/a" } },
    { $defs: { a: text }, items: { $ref: "#/$defs/a" } },
  ],
  ["definitions that nothing refers to are gone", { $defs: { a: text }, type: "string" }, text],
  [
    "a reference into properties becomes a definition",
    { properties: { a: text, b: { $ref: "#/properties/a" } } },
    { $defs: { a: text }, properties: { a: text, b: { $ref: "#/$defs/a" } } },
  ],
  [
    "two of the same name are told apart",
    {
      $defs: { a: text },
      properties: { a: { type: "number" }, b: { $ref: "#/properties/a" }, c: { $ref: "#/$defs/a" } },
    },
    {
      $defs: { a: { type: "number" }, a_2: text },
      properties: { a: { type: "number" }, b: { $ref: "#/$defs/a" }, c: { $ref: "#/$defs/a_2" } },
    },
  ],
  [
    "odd names become plain",
    { $defs: { "a/b c": text }, items: { $ref: "#/$defs/a~1b%20c" } },
    { $defs: { a_1b_20c: text }, items: { $ref: "#/$defs/a_1b_20c" } },
  ],
  [
    "a reference to the whole stays",
    { type: "array", items: { $ref: "#" } },
    { type: "array", items: { $ref: "#" } },
  ],
  [
    "a reference by anchor",
    { $defs: { x: { $anchor: "here", type: "string" } }, items: { $ref: "#here" } },
    { $defs: { here: text }, items: { $ref: "#/$defs/here" } },
  ],
  [
    "a reference by address within",
    {
      $id: "https://a.example/s",
      $defs: { x: { $id: "x.json", type: "string" } },
      properties: {
        a: { $ref: "x.json" },
        b: { $ref: "https://a.example/s#/$defs/x" },
        c: { $ref: "https://a.example/s" },
      },
    },
    {
      $defs: { "x.json": text },
      properties: { a: { $ref: "#/$defs/x.json" }, b: { $ref: "#/$defs/x.json" }, c: { $ref: "#" } },
    },
  ],
  [
    "a reference to another document allows everything",
    { properties: { a: { $ref: "https://b.example/s" }, b: { $ref: "file:///etc/passwd" } } },
    { properties: { a: true, b: true } },
  ],
  ["a reference to nowhere allows everything", { items: { $ref: "#/$defs/none" } }, { items: true }],
  ["older references that follow the caller", { items: { $recursiveRef: "#" } }, { items: { $ref: "#" } }],
  [
    "beside a reference of draft 7 nothing counts",
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { a: text },
      items: { $ref: "#/definitions/a", minLength: 5, description: "d" },
    },
    { $defs: { a: text }, items: { $ref: "#/$defs/a", description: "d" } },
  ],
  [
    "beside a reference of 2020-12 everything counts",
    { $defs: { a: text }, items: { $ref: "#/$defs/a", minLength: 5 } },
    { $defs: { a: text }, items: { $ref: "#/$defs/a", minLength: 5 } },
  ],
  [
    "a pair of older drafts",
    { items: [text, {}], additionalItems: false },
    { prefixItems: [text, true], items: false },
  ],
  ["additional items of no pair are gone", { items: text, additionalItems: false }, { items: text }],
  [
    "dependencies of older drafts",
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { required: ["d"] } } },
  ],
  [
    "a schema of nothing is true, and one that nothing fits false",
    { properties: { a: {}, b: { not: {} } } },
    { properties: { a: true, b: false } },
  ],
  [
    "what is so anyway is gone",
    { type: "object", additionalProperties: true, properties: {}, minProperties: 0 },
    { type: "object" },
  ],
  ["where it tells what is meant it stays", { additionalProperties: true }, { additionalProperties: true }],
  [
    "where another schema counts on it it stays",
    { allOf: [{ type: "object", additionalProperties: true }], unevaluatedProperties: false },
    { allOf: [{ type: "object", additionalProperties: true }], unevaluatedProperties: false },
  ],
  ["a choice of one is that one", { anyOf: [{ allOf: [text] }] }, text],
  ["a condition without a consequence is gone", { type: "string", if: { minLength: 1 } }, text],
  [
    "words with values that they cannot have are gone",
    { type: "string", minLength: -1, maxLength: "5", pattern: 5, properties: [], anyOf: {}, required: true },
    text,
  ],
  ["an example of OpenAPI", { type: "string", example: "x" }, { type: "string", examples: ["x"] }],
  ["true", true, {}],
  ["false", false, { not: {} }],
  ["no schema", "string", {}],
])("%s", (_what, schema, expected) => {
  expect(normalizeSchema(schema)).toEqual(expected);
});

test("keys are sorted, those of properties and examples too", () => {
  const schema = { type: "object", properties: { b: text, a: { examples: [{ z: 1, y: 2 }], default: 1 } } };
  expect(JSON.stringify(normalizeSchema(schema))).toBe(
    '{"properties":{"a":{"default":1,"examples":[{"y":2,"z":1}]},"b":{"type":"string"}},"type":"object"}',
  );
});

test("keeps annotations, or removes them on request", () => {
  const schema = { type: "string", title: "T", description: "D", default: "x", "x-own": 1, format: "date" };
  expect(normalizeSchema(schema)).toEqual(schema);
  expect(normalizeSchema(schema, { annotations: false })).toEqual({ type: "string", format: "date" });
});

test("a key that reaches a prototype is a key like any other", () => {
  const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
  expect(JSON.stringify(normalizeSchema(schema))).toBe(
    '{"properties":{"__proto__":{"type":"string"}},"type":"object"}',
  );
});

/** Returns a copy with the keys of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

test("a normal schema stays unchanged, and the order of keys does not matter", () => {
  for (const schema of sampleSchemas()) {
    for (const annotations of [true, false]) {
      const once = JSON.stringify(normalizeSchema(schema, { annotations }));
      expect(JSON.stringify(normalizeSchema(JSON.parse(once), { annotations }))).toBe(once);
      expect(JSON.stringify(normalizeSchema(reversed(schema), { annotations }))).toBe(once);
    }
  }
});

test("a truncated schema stays truncated", () => {
  const wide = {
    anyOf: Array.from({ length: 30_000 }, (_, index) => ({ minLength: index + 1, nullable: true })),
  };
  const data = { type: "string", default: Array.from({ length: 15_000 }, (_, index) => [index]) };
  for (const schema of [...endlessSchemas(), wide, data]) {
    const once = normalizeSchema(schema);
    expect(JSON.stringify(normalizeSchema(once)) === JSON.stringify(once)).toBe(true);
  }
});

test("no reference leads out of the result", () => {
  for (const schema of sampleSchemas()) {
    const result = normalizeSchema(schema, { annotations: false });
    const refs = [...JSON.stringify(result).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => String(ref));
    const names = Object.keys((result["$defs"] ?? {}) as JsonObject);
    expect(refs.filter((ref) => ref !== "#" && !names.includes(ref.replace("#/$defs/", "")))).toEqual([]);
  }
});

test("what a schema allows or refuses, its normal form allows or refuses", () => {
  const isValid = (schema: JsonObject, value: unknown): boolean =>
    new Validator(schema as Schema, "2020-12", false).validate(value).valid;
  const alien = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom({ a: 1 }, ["x"], "x", 1, null));
  fc.assert(
    fc.property(validValues, fc.array(alien, { maxLength: 3 }), ({ schema, values }, aliens) => {
      const normal = normalizeSchema(schema);
      for (const value of values) expect(isValid(normal, value)).toBe(true);
      for (const value of aliens) expect(isValid(normal, value)).toBe(isValid(schema, value));
    }),
    { numRuns: 60 },
  );
});

test.runIf(realCatalog().length > 0)(
  "real schemas stay normal, and allow what they allowed",
  async () => {
    for (const [index, { server, name, inputSchema }] of realCatalog().entries()) {
      const normal = normalizeSchema(inputSchema);
      expect([server, name, JSON.stringify(normalizeSchema(normal))]).toEqual([
        server,
        name,
        JSON.stringify(normal),
      ]);
      const example = index % 10 === 0 ? await createExample(inputSchema) : undefined;
      if (example !== undefined)
        expect(new Validator(normal as Schema, "2020-12").validate(example).valid).toBe(true);
    }
  },
  60_000,
);

test("a tool is told whole, with its schemas normalised", () => {
  const tool = manifest({
    inputSchema: { type: ["object"], required: ["b", "a"] },
    outputSchema: { type: "any" },
  });
  expect(JSON.parse(jsonSchema.declaration(tool))).toEqual({
    ...tool,
    inputSchema: { type: "object", required: ["a", "b"] },
    outputSchema: {},
  });
});
