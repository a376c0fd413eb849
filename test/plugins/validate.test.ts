import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createGateway, type JsonObject, localTools, type SettledCall, textResult } from "../../core/mod.ts";
import { validate } from "../../plugins/validate.ts";
import { getError } from "../support/failure.ts";

/** Calls a tool of this input schema, with these arguments one after another. */
async function check(inputSchema: JsonObject, ...args: unknown[]): Promise<SettledCall[]> {
  const tool = { name: "t", inputSchema, run: () => textResult("ran") };
  const gateway = await createGateway({ plugins: [validate(), localTools("s", { id: "s" }, [tool])] });
  const calls: SettledCall[] = [];
  for (const each of args) calls.push(await gateway.run({ tool: "s:t", args: each }));
  await gateway.close();
  return calls;
}

async function accepts(inputSchema: JsonObject, args: unknown): Promise<boolean> {
  const [call] = await check(inputSchema, args);
  if (call?.ok) return true;
  expect(call).toMatchObject({ stage: "validate", error: { code: "INVALID_ARGUMENTS" } });
  return false;
}

const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...rest,
});

describe("wrong arguments end the call in the validate stage, with the path and the reason:", () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: {
      node: object(
        { value: { type: "number" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        { required: ["value"] },
      ),
    },
  };
  const unit = object({ of: { oneOf: [{ type: "string", maxLength: 2 }, { type: "integer" }] } });

  test.each<[string, JsonObject, unknown, string, RegExp]>([
    [
      "a wrong type",
      object({ a: { type: "number" } }),
      { a: "1" },
      "a",
      /"string" is invalid\. Expected "number"/,
    ],
    ["a missing property", object({}, { required: ["a"] }), {}, "", /does not have required property "a"/],
    ["a property too many", object({}, { additionalProperties: false }), { b: 1 }, "b", /not allowed here/],
    [
      "a place deep inside",
      object({ list: { type: "array", items: object({ n: { type: "integer" } }) } }),
      { list: [{ n: 1 }, { n: 1.5 }] },
      "list/1/n",
      /Expected "integer"/,
    ],
    [
      "a key with a slash",
      object({ "a/b~c": { type: "null" } }),
      { "a/b~c": 1 },
      "a~1b~0c",
      /Expected "null"/,
    ],
    ["none of the choices", unit, { of: true }, "of", /invalid|does not match/],
    ["a choice that fits not quite", unit, { of: "long" }, "of", /too long|invalid/],
    [
      "two choices at once",
      object({ n: { oneOf: [{ minimum: 1 }, { minimum: 2 }] } }),
      { n: 3 },
      "n",
      /2 matches/,
    ],
    ["a value not in the list", object({ a: { enum: ["x", "y"] } }), { a: "z" }, "a", /"x","y"/],
    ["a number out of range", object({ a: { minimum: 1, maximum: 5 } }), { a: 6 }, "a", /greater than 5/],
    [
      "the same item twice",
      object({ a: { uniqueItems: true } }),
      { a: [1, { b: 1 }, { b: 1 }] },
      "a",
      /Duplicate/,
    ],
    [
      "a date that is none",
      object({ a: { type: "string", format: "date" } }),
      { a: "2026-02-30" },
      "a",
      /format/,
    ],
    ["a property named by a reference", tree, { value: "1" }, "value", /Expected "number"/],
    [
      "a place deep in a recursive schema",
      tree,
      { value: 1, children: [{ value: 2, children: [{}] }] },
      "children/0/children/0",
      /required property "value"/,
    ],
    [
      "a name that every object has",
      object({}, { required: ["toString"] }),
      {},
      "",
      /required property "toString"/,
    ],
  ])("%s", async (_what, schema, args, path, reason) => {
    const [call] = await check(schema, args);
    expect(call?.stage).toBe("validate");
    const error = getError(call as SettledCall);
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENTS",
      kind: { spec: "TOOL_VALIDATION_ERROR", exit: 1, rpc: -32602 },
      data: { tool: "s:t", path },
    });
    expect(error.message).toMatch(reason);
    expect(error.message).toContain(path === "" ? `"s:t" are wrong: ` : `"s:t" are wrong at "${path}": `);
  });
});

describe("right arguments pass:", () => {
  test.each<[string, JsonObject, unknown]>([
    ["none, where none are needed", object({}), undefined],
    ["any, where the schema says nothing", {}, { a: [{}] }],
    ["one of the choices", object({ of: { oneOf: [{ type: "string" }, { type: "integer" }] } }), { of: 5 }],
    ["an optional property that every object has", object({ constructor: { type: "string" } }), {}],
    ["a property that every object has", object({ constructor: { type: "string" } }), { constructor: "x" }],
    [
      "a recursive schema",
      { ...object({ next: { $ref: "#" } }), additionalProperties: false },
      { next: { next: {} } },
    ],
    [
      "an old-fashioned schema",
      object({ a: { $ref: "#/definitions/n" } }, { definitions: { n: { type: "number" } } }),
      { a: 1 },
    ],
    ["data that looks like a schema", object({ a: { const: { pattern: "^a" } } }), { a: { pattern: "^a" } }],
    [
      "a property named like a keyword",
      object({ pattern: { type: "string" }, not: { type: "string" } }, { additionalProperties: false }),
      { pattern: "(", not: "x" },
    ],
    [
      "a property named patternProperties",
      object({ patternProperties: { type: "object" } }, { additionalProperties: false }),
      { patternProperties: {} },
    ],
    ["a schema with an id", { $id: "https://example.com/a", ...object({ a: { type: "number" } }) }, { a: 1 }],
  ])("%s", async (_what, schema, args) => {
    expect(await accepts(schema, args)).toBe(true);
  });

  test("two tools whose schemas have the same id are checked each by its own", async () => {
    const $id = "https://example.com/same";
    const tools = ["string", "number"].map((type) => ({
      name: type,
      inputSchema: { $id, ...object({ a: { type } }) },
      run: () => textResult("ran"),
    }));
    const gateway = await createGateway({ plugins: [validate(), localTools("s", { id: "s" }, tools)] });
    const ok = async (tool: string, a: unknown) => (await gateway.run({ tool: `s:${tool}`, args: { a } })).ok;
    expect([await ok("string", "x"), await ok("number", "x")]).toEqual([true, false]);
    expect([await ok("string", 1), await ok("number", 1)]).toEqual([false, true]);
    await gateway.close();
  });
});

test("a changed definition is checked by its new schema, and by no other", async () => {
  const gateway = await createGateway({
    plugins: [
      validate(),
      {
        name: "answers",
        setup: () => ({
          execute: (call) => {
            call.result = textResult("ran");
          },
        }),
      },
    ],
  });
  const run = async (a: unknown) => (await gateway.run({ tool: "s:t", args: { a } })).ok;
  await gateway.catalog.replace({ id: "s" }, [{ name: "t", inputSchema: object({ a: { type: "string" } }) }]);
  expect([await run("x"), await run(1)]).toEqual([true, false]);
  await gateway.catalog.replace({ id: "s" }, [{ name: "t", inputSchema: object({ a: { type: "number" } }) }]);
  expect([await run("x"), await run(1)]).toEqual([false, true]);
  await gateway.close();
});

test("the arguments a tool gets are those that were checked, unchanged", async () => {
  const seen: unknown[] = [];
  const tool = {
    name: "t",
    inputSchema: object({ a: { type: "array", uniqueItems: true, default: [] } }),
    run(args: JsonObject) {
      seen.push(args);
      return textResult("ran");
    },
  };
  const gateway = await createGateway({ plugins: [validate(), localTools("s", { id: "s" }, [tool])] });
  const args = { a: [1, { b: null }] };
  await gateway.run({ tool: "s:t", args });
  await gateway.close();
  expect(seen).toEqual([{ a: [1, { b: null }] }]);
  expect(tool.inputSchema).toEqual(object({ a: { type: "array", uniqueItems: true, default: [] } }));
});

/** Nothing here may take longer than a person would notice. */
async function quickly<T>(work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  expect(performance.now() - began).toBeLessThan(10_000);
  return result;
}

const stalling = "^(a+)+$";
const bait = `${"a".repeat(60)}!`;

describe("an untrusted pattern is checked, and stalls nothing, wherever it stands:", () => {
  test.each<[string, JsonObject, (text: string) => unknown]>([
    ["pattern", object({ a: { pattern: stalling } }), (a) => ({ a })],
    [
      "patternProperties",
      object({}, { patternProperties: { [stalling]: {} }, additionalProperties: false }),
      (name) => ({ [name]: 1 }),
    ],
    ["propertyNames", object({}, { propertyNames: { pattern: stalling } }), (name) => ({ [name]: 1 })],
    [
      "under a property named default",
      object({ default: { pattern: stalling } }),
      (text) => ({ default: text }),
    ],
    ["under a property named enum", object({ enum: { pattern: stalling } }), (text) => ({ enum: text })],
    [
      "under a property named properties",
      object({ properties: { pattern: stalling } }),
      (text) => ({ properties: text }),
    ],
    [
      "in $defs of a hidden name",
      object({ a: { $ref: "#/$defs/const" } }, { $defs: { const: { pattern: stalling } } }),
      (a) => ({ a }),
    ],
    ["in items", object({ a: { items: { pattern: stalling } } }), (text) => ({ a: [text] })],
    ["in allOf", object({ a: { allOf: [{ pattern: stalling }] } }), (a) => ({ a })],
    [
      "in a draft 7 dependency",
      object({}, { dependencies: { a: object({ a: { pattern: stalling } }) } }),
      (a) => ({ a }),
    ],
  ])("%s", async (_what, schema, args) => {
    expect(await quickly(() => accepts(schema, args("aaa")))).toBe(true);
    expect(await quickly(() => accepts(schema, args(bait)))).toBe(false);
  });

  test("and the format url, which is not", async () => {
    const schema = object({ a: { format: "url" } });
    expect(await quickly(() => accepts(schema, { a: `http://${"a".repeat(100)}!` }))).toBe(true);
  });

  test("beside a format, both count, and the answer names what was written", async () => {
    const schema = object({ a: { type: "string", pattern: "^2026-", format: "date" } });
    const [right, wrongYear, wrongDay] = await check(
      schema,
      { a: "2026-01-31" },
      { a: "2025-01-31" },
      { a: "2026-02-30" },
    );
    expect(right?.ok).toBe(true);
    for (const call of [wrongYear, wrongDay])
      expect(getError(call as SettledCall).message).toBe(
        'The arguments of "s:t" are wrong at "a": String does not match pattern "^2026-" or format "date".',
      );
  });
});

describe("what depends on a pattern that cannot be checked refuses nothing that is right:", () => {
  test.each<[string, JsonObject, unknown]>([
    [
      "additionalProperties",
      { patternProperties: { "^(?=x)x-": { type: "string" } }, additionalProperties: false },
      { "x-a": "b" },
    ],
    [
      "unevaluatedProperties",
      { allOf: [{ patternProperties: { "^(?=x)x-": {} } }], unevaluatedProperties: false },
      { "x-a": "b" },
    ],
    ["not", object({ path: { type: "string", not: { pattern: "(?=\\.)\\.\\." } } }), { path: "a/b" }],
    [
      "not, by reference",
      object({ path: { not: { $ref: "#/$defs/up" } } }, { $defs: { up: { pattern: "(?=\\.)\\.\\." } } }),
      { path: "a/b" },
    ],
    ["oneOf", object({ id: { oneOf: [{ pattern: "^(?=a)" }, { pattern: "^(?=b)" }] } }), { id: "b1" }],
    [
      "if",
      JSON.parse(
        `{ "properties": { "id": { "if": { "pattern": "^(?=a)" }, "then": { "maxLength": 2 }, "else": { "minLength": 5 } } } }`,
      ),
      { id: "bcdef" },
    ],
    ["maxContains", object({ a: { contains: { pattern: "^(?=a)" }, maxContains: 1 } }), { a: ["a", "b"] }],
  ])("%s", async (_what, schema, args) => {
    expect(await accepts(schema, args)).toBe(true);
  });

  test("and the rest of the schema is still checked", async () => {
    const schema = object({
      a: { type: "string", pattern: "^(?=a)", maxLength: 3 },
      b: { oneOf: [{ type: "string" }, { type: "number" }] },
    });
    expect(await accepts(schema, { a: 5 })).toBe(false);
    expect(await accepts(schema, { a: "abcd" })).toBe(false);
    expect(await accepts(schema, { b: true })).toBe(false);
    expect(await accepts(schema, { a: "abc", b: 1 })).toBe(true);
  });
});

/** Definitions that each apply the next one twice: few words, and no end of work. */
function doubling(levels: number): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: { type: "string" } };
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    $defs[`d${level}`] = { anyOf: [next, next] };
  }
  return object({ a: { $ref: "#/$defs/d0" } }, { $defs });
}

function nested(depth: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < depth; level++) schema = object({ a: schema });
  return schema;
}

describe("a schema that cannot be checked against is refused with the reason:", () => {
  const wide = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`p${index}`, { type: "string" }]),
  );
  const everyLevelTwice = object({ a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } });
  const deepArgs = JSON.parse(`${`{"a":`.repeat(60)}{}${"}".repeat(60)}`);

  test.each<[string, JsonObject, unknown]>([
    ["too deep", nested(5_000), {}],
    ["too many properties", object(wide), {}],
    ["references that double", doubling(40), { a: "x" }],
    ["references that double with each level of the arguments", everyLevelTwice, deepArgs],
  ])("too complex: %s", async (_what, schema, args) => {
    const [call] = await quickly(() => check(schema, args));
    expect(call?.stage).toBe("validate");
    const error = getError(call as SettledCall);
    expect(error.code).toBe("SCHEMA_TOO_COMPLEX");
    expect(error.message).toBe(
      `The input schema of "s:t" is too complex, so its arguments cannot be checked.`,
    );
  });

  test.each<[string, JsonObject]>([
    ["a reference to itself", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }],
    ["a reference to nothing", { $ref: "#/$defs/a" }],
    ["choices that are no list", { anyOf: 5 } as JsonObject],
    [
      "an id that is there twice",
      { $id: "https://a.example/", $defs: { b: { $id: "https://a.example/", type: "string" } } },
    ],
  ])("faulty: %s", async (_what, schema) => {
    const [call] = await quickly(() => check(schema, {}));
    const error = getError(call as SettledCall);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENTS", data: { tool: "s:t" } });
    expect(error.message).toBe(`The input schema of "s:t" is faulty, so its arguments cannot be checked.`);
  });

  test("but one call too much does not spoil the next", async () => {
    const schema = object({ a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } });
    const [refused, passed] = await check(schema, deepArgs, { a: { a: {} } });
    expect([refused?.ok, passed?.ok]).toEqual([false, true]);
  });

  test("and large arguments of a simple schema pass", async () => {
    const schema = object({ a: { type: "array", items: { type: "number" } } });
    const a = Array.from({ length: 50_000 }, (_, index) => index);
    expect(await quickly(() => accepts(schema, { a }))).toBe(true);
  });
});

test("in a very long list no item is compared twice", async () => {
  const schema = object({ a: { type: "array", uniqueItems: true } });
  const long = Array.from({ length: 50_000 }, (_, index) => index);
  const [first, second] = await quickly(() => check(schema, { a: long }, { a: [1, 1] }));
  expect([first?.ok, second?.ok]).toEqual([true, false]);
});

test("whatever a schema and the arguments hold, a call ends, in order, and no prototype is touched", async () => {
  const keyword = fc.constantFrom(
    ...[
      "type",
      "properties",
      "items",
      "$ref",
      "anyOf",
      "oneOf",
      "not",
      "if",
      "then",
      "required",
      "enum",
      "pattern",
    ],
    ...[
      "patternProperties",
      "additionalProperties",
      "uniqueItems",
      "$defs",
      "$id",
      "__proto__",
      "$recursiveAnchor",
      "a",
    ],
  );
  const { node } = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom<unknown>("string", "object", "#", "#/$defs/a", "^(a+)+$", true, false, null, 5, "a"),
      fc.array(tie("node"), { maxLength: 3 }),
      fc.dictionary(keyword, tie("node"), { maxKeys: 4 }),
    ),
  }));
  const schema = fc.dictionary(keyword, node, { maxKeys: 5 });
  const codes = ["INVALID_ARGUMENTS", "FORBIDDEN_KEY", "SCHEMA_UNSUPPORTED", "SCHEMA_TOO_COMPLEX"];
  await fc.assert(
    fc.asyncProperty(schema, fc.jsonValue({ maxDepth: 4 }), async (inputSchema, a) => {
      const [call] = await check(inputSchema, { a });
      if (!call?.ok) expect(codes).toContain(call?.error.code);
      expect(Object.keys(Object.prototype)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
