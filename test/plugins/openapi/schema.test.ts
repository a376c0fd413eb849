import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { copySchema } from "../../../plugins/lib/schema/copy.ts";
import { built, builtOne, createApi } from "./_open.ts";

/** The schema of an operation whose body is this. */
function bodySchema(schema: JsonObject, schemas: JsonObject = {}, openapi = "3.0.0"): JsonObject {
  const paths = {
    "/x": { post: { requestBody: { required: true, content: { "application/json": { schema } } } } },
  };
  return builtOne(createApi(paths, { openapi, components: { schemas } })).definition.inputSchema;
}

/** Converts the schema of one property. */
function property(schema: JsonObject, schemas: JsonObject = {}, openapi = "3.0.0"): unknown {
  const whole = bodySchema({ type: "object", properties: { value: schema } }, schemas, openapi);
  return (whole["properties"] as JsonObject)["value"];
}

test.each<[JsonObject, unknown]>([
  [{ type: "string", nullable: true }, { type: ["string", "null"] }],
  [
    { type: "string", enum: ["a"], nullable: true },
    { type: ["string", "null"], enum: ["a", null] },
  ],
  [
    { type: "integer", minimum: 1, exclusiveMinimum: true },
    { type: "integer", exclusiveMinimum: 1 },
  ],
  [
    { type: "number", maximum: 9, exclusiveMaximum: false },
    { type: "number", maximum: 9 },
  ],
  [
    { type: "string", example: "a1" },
    { type: "string", examples: ["a1"] },
  ],
  [{ type: "string", example: 7 }, { type: "string" }],
  [{ type: "string", enum: [1, 2] }, { enum: [1, 2] }],
  [{ type: "string", enum: [] }, { type: "string" }],
  [{ type: "Int" }, {}],
  [{ type: "String" }, { type: "string" }],
  [{ properties: { a: {} } }, { type: "object", properties: { a: {} } }],
  [
    { type: "string", format: "binary" },
    { type: "string", format: "binary", contentEncoding: "base64" },
  ],
  [
    { oneOf: [{ type: "string" }, { type: "integer" }], discriminator: { propertyName: "x" } },
    { anyOf: [{ type: "string" }, { type: "integer" }] },
  ],
  [
    { allOf: [{ type: "string" }], description: "D" },
    { type: "string", description: "D" },
  ],
  [
    { type: "string", description: "<p>In <b>cents</b></p>" },
    { type: "string", description: "In cents" },
  ],
  [{ type: "object", additionalProperties: {} }, { type: "object" }],
  [
    { type: "object", additionalProperties: { type: "integer" } },
    { type: "object", additionalProperties: { type: "integer" } },
  ],
  [{ type: "string", minLength: "3", pattern: 5, xml: { name: "x" }, "x-more": 1 }, { type: "string" }],
])("in OpenAPI 3.0, %j becomes %j", (schema, expected) => {
  expect(property(schema)).toEqual(expected);
});

test("in OpenAPI 3.1, types, constants and exclusive bounds stay as they are", () => {
  const schema = { type: ["integer", "null"], exclusiveMinimum: 1, examples: [2] };
  expect(property(schema, {}, "3.1.0")).toEqual(schema);
  expect(property({ const: "a" }, {}, "3.1.0")).toEqual({ const: "a" });
});

test("a reference to a simple value is replaced by it, and one to anything larger is kept under $defs", () => {
  const schemas = {
    Color: { type: "string", enum: ["red"] },
    Box: { type: "object", properties: { color: { $ref: "#/components/schemas/Color" } } },
  };
  const schema = bodySchema(
    { type: "object", properties: { box: { $ref: "#/components/schemas/Box" } } },
    schemas,
  );
  expect(schema).toMatchObject({
    properties: { box: { $ref: "#/$defs/Box" } },
    $defs: { Box: { type: "object", properties: { color: { type: "string", enum: ["red"] } } } },
  });
});

test("two parts of a document that have one name are both there", () => {
  const box = (key: string): JsonObject => ({ type: "object", properties: { [key]: {} } });
  const paths = {
    "/x": {
      post: {
        requestBody: {
          content: {
            "application/json": {
              schema: {
                type: "object",
                properties: { a: { $ref: "#/components/schemas/Box" }, b: { $ref: "#/x-more/Box" } },
              },
            },
          },
        },
      },
    },
  };
  const document = createApi(paths, {
    components: { schemas: { Box: box("one") } },
    "x-more": { Box: box("two") },
  });
  expect(builtOne(document).definition.inputSchema["$defs"]).toEqual({ Box: box("one"), Box_2: box("two") });
});

test("names recursive schemas where they recur, so that a schema is finite", () => {
  const item = {
    type: "object",
    properties: { parts: { type: "array", items: { $ref: "#/components/schemas/Item" } } },
  };
  const { $defs } = bodySchema(
    { type: "object", properties: { item: { $ref: "#/components/schemas/Item" } } },
    { Item: item },
  );
  expect($defs).toEqual({
    Item: {
      type: "object",
      properties: {
        parts: { type: "array", items: { type: "object", description: "What the API calls Item." } },
      },
    },
  });
});

test("references that lead in a circle, nowhere, or out of the document allow anything", () => {
  const schemas = {
    A: { $ref: "#/components/schemas/B" },
    B: { $ref: "#/components/schemas/A" },
    Own: { allOf: [{ $ref: "#/components/schemas/Own" }] },
  };
  expect(property({ $ref: "#/components/schemas/A" }, schemas)).toEqual({});
  expect(property({ $ref: "#/components/schemas/None" })).toEqual({});
  expect(property({ $ref: "https://evil.example/schema.json" })).toEqual({});
  expect(property({ $ref: "file:///etc/passwd" })).toEqual({});
  expect(property({ $ref: "other.yaml#/a" })).toEqual({});
  expect(JSON.stringify(property({ $ref: "#/components/schemas/Own" }, schemas))).not.toContain("components");
});

test("allOf of objects becomes one object, and every part of it still counts", () => {
  const schemas = {
    Base: {
      type: "object",
      required: ["id"],
      properties: { id: { type: "string" } },
      additionalProperties: false,
    },
    Deep: { allOf: [{ $ref: "#/components/schemas/Base" }, { properties: { at: { type: "integer" } } }] },
  };
  const schema = {
    allOf: [{ $ref: "#/components/schemas/Deep" }, { required: ["name"], properties: { name: {} } }],
  };
  expect(bodySchema(schema, schemas)).toEqual({
    type: "object",
    properties: { id: { type: "string" }, at: { type: "integer" }, name: {} },
    required: ["id", "name"],
    additionalProperties: false,
  });
});

test("a property that two parts of allOf describe must fit both", () => {
  const parts = [{ properties: { a: { type: "string" } } }, { properties: { a: { maxLength: 3 } } }];
  expect(property({ allOf: parts })).toEqual({
    type: "object",
    properties: { a: { allOf: [{ type: "string" }, { maxLength: 3 }] } },
  });
});

test("allOf of anything else is kept", () => {
  const parts = [{ type: "string" }, { anyOf: [{ maxLength: 3 }, { minLength: 9 }] }];
  expect(property({ allOf: parts })).toEqual({ allOf: parts });
});

test("read-only properties are no parameters, not even where they are required", () => {
  const schema = {
    type: "object",
    required: ["id", "name"],
    properties: { id: { type: "string", readOnly: true }, name: { type: "string" } },
  };
  const expected = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  expect(property(schema)).toEqual(expected);
  expect(bodySchema(schema)).toEqual({ ...expected, additionalProperties: false });
});

test("a schema of thousands of parts is made small enough to be checked, and keeps what is near", () => {
  const wide = (depth: number): JsonObject => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [
        `p${index}`,
        depth === 0 ? { type: "string" } : wide(depth - 1),
      ]),
    ),
  });
  const schema = bodySchema(wide(4));
  expect(() => copySchema(schema)).not.toThrow();
  expect(schema).toMatchObject({ properties: { p0: { properties: { p7: { type: "object" } } } } });
});

test("many large definitions are named rather than left out", () => {
  const schemas: JsonObject = {};
  for (let index = 0; index < 60; index++) {
    schemas[`S${index}`] = {
      type: "object",
      properties: {
        ...Object.fromEntries(Array.from({ length: 40 }, (_, inner) => [`p${inner}`, { type: "string" }])),
        next: { $ref: `#/components/schemas/S${index + 1}` },
      },
    };
  }
  const schema = bodySchema(
    { type: "object", properties: { a: { $ref: "#/components/schemas/S0" } } },
    schemas,
  );
  const defs = schema["$defs"] as Record<string, JsonObject>;
  expect(() => copySchema(schema)).not.toThrow();
  expect(defs["S1"]?.["properties"]).toBeDefined();
  for (const ref of JSON.stringify(schema).matchAll(/#\/\$defs\/(\w+)/g))
    expect(defs).toHaveProperty(String(ref[1]));
  expect(Object.values(defs).at(-1)).not.toHaveProperty("properties");
});

test("whatever a document holds, its operations are built, and their schemas can be checked and have an end", () => {
  const names = ["A", "B", "C"];
  const odd = fc.constantFrom<unknown>(null, 7, "x", [], [null], {}, { toString: null }, { a: [1] }, true);
  const ref = fc.constantFrom(...names, "None").map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(odd, ref),
      fc.record(
        {
          type: fc.oneof(fc.constantFrom("object", "array", "string", "file", "any"), odd),
          nullable: fc.boolean(),
          properties: fc.dictionary(fc.constantFrom("a", "b", "constructor"), tie("schema")),
          required: fc.oneof(fc.constant(["a", "toString"]), odd),
          items: tie("schema"),
          additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
          allOf: fc.array(tie("schema"), { maxLength: 3 }),
          oneOf: fc.array(tie("schema"), { maxLength: 3 }),
          enum: fc.oneof(fc.array(odd), odd),
        },
        { requiredKeys: [] },
      ),
    ),
  }));
  fc.assert(
    fc.property(
      fc.tuple(schema, schema, schema),
      schema,
      fc.constantFrom("3.0.0", "3.1.0"),
      (parts, body, openapi) => {
        const schemas = Object.fromEntries(names.map((name, index) => [name, parts[index]]));
        const paths = {
          "/{id}": {
            post: {
              parameters: [{ name: "id", in: "query", schema: body }, body],
              requestBody: { content: { "application/json": { schema: body } } },
            },
          },
        };
        for (const { definition } of built(createApi(paths, { openapi, components: { schemas } }))) {
          const { inputSchema } = definition;
          expect(() => copySchema(inputSchema)).not.toThrow();
          expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
          expect(hasEnd(inputSchema, (inputSchema["$defs"] ?? {}) as JsonObject)).toBe(true);
        }
      },
    ),
    { numRuns: 150 },
  );
});

/** Whether every reference leads somewhere, and none back to where it came from. */
function hasEnd(schema: JsonObject, definitions: JsonObject): boolean {
  const ended = new Set<string>();
  const visit = (node: unknown, path: readonly string[]): boolean => {
    const names = [...JSON.stringify(node).matchAll(/"#\/\$defs\/([^"]+)"/g)].map((match) =>
      String(match[1]),
    );
    return names.every((name) => {
      if (path.includes(name) || !Object.hasOwn(definitions, name)) return false;
      if (!ended.has(name) && !visit(definitions[name], [...path, name])) return false;
      ended.add(name);
      return true;
    });
  };
  return visit({ ...schema, $defs: {} }, []);
}

test("parts that hold each other twice over are converted in no time", () => {
  const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
  const part = (name: string): JsonObject => ({
    allOf: [{ properties: { a: ref("A"), b: ref("A") } }, { properties: { a: ref(name), b: ref(name) } }],
  });
  const before = performance.now();
  bodySchema(ref("A"), { A: part("B"), B: part("A") });
  expect(performance.now() - before).toBeLessThan(10_000);
});
