import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createGateway,
  type GatewayError,
  type JsonObject,
  localTools,
  type Plugin,
  type SettledCall,
  textResult,
} from "../../core/mod.ts";
import { createPolicy, type RiskLevel } from "../../core/services/policy.ts";
import { createPatternCompiler } from "../../plugins/lib/pattern.ts";
import { validate } from "../../plugins/validate.ts";
import { openGateway } from "../support/open-gateway.ts";

interface Tried {
  readonly call: SettledCall;
  readonly cpuMs: number;
}

async function openValidated(inputSchema: JsonObject, ...plugins: Plugin[]) {
  const errors: GatewayError[] = [];
  let ran = 0;
  const tool = {
    name: "t",
    inputSchema,
    run() {
      ran++;
      return textResult("ran");
    },
  };
  const listener: Plugin = { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) };
  const gateway = await openGateway({
    plugins: [...plugins, validate(), listener, localTools("s", { id: "s" }, [tool])],
  });
  return {
    gateway,
    errors,
    ran: () => ran,
    async run(args: unknown): Promise<Tried> {
      const before = process.cpuUsage();
      const call = await gateway.run({ tool: "s:t", args });
      const { user, system } = process.cpuUsage(before);
      return { call, cpuMs: (user + system) / 1000 };
    },
  };
}

const getCode = ({ call }: Tried): string => (call.ok ? "ok" : call.error.code);
const string = (rest: JsonObject): JsonObject => ({
  type: "object",
  properties: { a: { type: "string", ...rest } },
});

describe("fault 26: a pattern that takes forever in most engines", () => {
  const corpus: [pattern: string, bait: string][] = [
    ["^(a+)+$", `${"a".repeat(30_000)}!`],
    ["^(a|a)*$", `${"a".repeat(30_000)}!`],
    ["^(a|aa)+$", `${"a".repeat(30_000)}!`],
    ["(.*)*x$", "a".repeat(30_000)],
    ["(x+x+)+y$", "x".repeat(30_000)],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(30_000)],
    ["^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+$", "a".repeat(20_000)],
    ["a*a*a*a*a*a*b$", "a".repeat(30_000)],
    ["^(\\d+|\\d+\\.)*$", `${"1".repeat(30_000)}!`],
    ["^(?:.?)+x$", "y".repeat(20_000)],
    ["\\s+$", `${" ".repeat(30_000)}x`],
  ];

  test.each(corpus)("%s costs at most 100 ms to compile and 50 ms to check", async (pattern, bait) => {
    const { run } = await openValidated(string({ pattern }));
    // The engine itself is loaded once.
    await createPatternCompiler();
    const first = await run({ a: "" });
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      const tried = await run({ a: bait });
      expect(getCode(tried)).toBe("INVALID_ARGUMENTS");
      times.push(tried.cpuMs);
    }
    expect(first.cpuMs).toBeLessThan(100);
    expect(Math.min(...times)).toBeLessThan(50);
  });

  test("as the name of properties too", async () => {
    const { run } = await openValidated({
      type: "object",
      patternProperties: { "^(a+)+$": { type: "number" } },
    });
    expect(getCode(await run({ aaa: "x" }))).toBe("INVALID_ARGUMENTS");
    const tried = await run({ [`${"a".repeat(30_000)}!`]: "x" });
    expect(getCode(tried)).toBe("ok");
    expect(tried.cpuMs).toBeLessThan(100);
  });

  test("one that would take long all the same is refused before it does", async () => {
    const { run } = await openValidated(string({ pattern: "(?:a|b)*a(?:a|b){300}c$" }));
    expect(getCode(await run({ a: `${"ab".repeat(200)}` }))).toBe("INVALID_ARGUMENTS");
    const tried = await run({ a: "ab".repeat(100_000) });
    expect(getCode(tried)).toBe("SCHEMA_TOO_COMPLEX");
    expect(tried.cpuMs).toBeLessThan(200);
  });

  test("a pattern has its meaning in JavaScript", async () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "\\s",
      "\\S",
      "\\w",
      "\\d",
      "[a\\s]",
      "[^b]",
      "(?:a|b)",
      "\\.",
      "\\u00a0",
    );
    const part = fc
      .tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "{1,3}"))
      .map((pair) => pair.join(""));
    const pattern = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
    const text = fc.string({
      unit: fc.constantFrom("a", "b", "1", " ", ".", "\n", "\r", "\u00a0", "\u2028", "\u3000", "é", "😀"),
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(pattern, fc.boolean(), text, async (body, isAnchored, subject) => {
        const source = isAnchored ? `^${body}$` : body;
        // A new compiler each time: together they would be too many for one schema.
        const compiled = (await createPatternCompiler()).compile(source);
        expect(compiled?.test(subject)).toBe(new RegExp(source, "u").test(subject));
      }),
      { numRuns: 500 },
    );
  });
});

describe("fault 27: a pattern that looks around or refers back", () => {
  const guarding = (level: RiskLevel | undefined): Plugin => ({
    name: "guard",
    setup: () => ({
      "tool:discover"(tool) {
        tool.policy = createPolicy(level ?? "high", "s");
      },
    }),
  });
  const patterns = [
    "^(?=.*[a-z])\\w+$",
    "^(?!admin)",
    "(a)\\1",
    "(?<=a)b",
    "(?<!a)b",
    "^.{1,5000}$",
    "(",
    "(?:abc){1000}".repeat(5),
  ];

  test.each(patterns)(
    "%s is not checked where little can go wrong, and that is said once",
    async (pattern) => {
      for (const plugins of [[], [guarding("low")], [guarding("medium")]]) {
        const { run, errors } = await openValidated(string({ pattern }), ...plugins);
        for (let count = 0; count < 3; count++) expect(getCode(await run({ a: "anything" }))).toBe("ok");
        expect(getCode(await run({ a: 5 }))).toBe("INVALID_ARGUMENTS");
        expect(errors.map(({ code }) => code)).toEqual(["SCHEMA_UNSUPPORTED"]);
        expect(errors[0]?.message).toContain("cannot be checked in bounded time");
        expect(errors[0]?.message).toContain(JSON.stringify(pattern.slice(0, 100)));
      }
    },
  );

  test.each(patterns)("%s: a tool that may do harm is not called", async (pattern) => {
    for (const level of ["high", "destructive", undefined] as const) {
      const { run, ran } = await openValidated(string({ pattern }), guarding(level));
      expect(getCode(await run({ a: "anything" }))).toBe("SCHEMA_UNSUPPORTED");
      expect(ran()).toBe(0);
    }
  });

  test("a schema without such a pattern has nothing to say", async () => {
    const { run, errors } = await openValidated(string({ pattern: "^a" }), guarding("high"));
    expect(getCode(await run({ a: "ab" }))).toBe("ok");
    expect(errors).toEqual([]);
  });
});

describe("fault 29: a schema that is too much is refused before it is compiled", () => {
  const many = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string" }]));
  const nested = (depth: number): JsonObject => {
    let schema: JsonObject = { type: "string" };
    for (let level = 0; level < depth; level++) schema = { items: schema };
    return schema;
  };
  const doubling = (levels: number): JsonObject => {
    const $defs: JsonObject = { [`d${levels}`]: { type: "string" } };
    for (let level = 0; level < levels; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` };
      $defs[`d${level}`] = { anyOf: [next, next] };
    }
    return { $ref: "#/$defs/d0", $defs };
  };

  test.each<[string, JsonObject]>([
    ["5,000 levels", nested(5_000)],
    ["33 levels", nested(33)],
    ["5,000 properties", { properties: many(5_000) }],
    [
      "more than 256 KB",
      { properties: { a: { enum: Array.from({ length: 300 }, (_, i) => `${i}${"x".repeat(1_000)}`) } } },
    ],
    ["a description of more than 256 KB", { description: "x".repeat(300_000) }],
    ["data that is nested deep", { default: JSON.parse(`${"[".repeat(3_000)}${"]".repeat(3_000)}`) }],
    ["2^18 ways by reference", doubling(18)],
    ["a reference to itself, twice at each level", { anyOf: [{ $ref: "#" }, { $ref: "#" }] }],
  ])("%s", async (_what, schema) => {
    const { run, ran } = await openValidated(schema);
    const tried = await run({ a: 1 });
    expect(["SCHEMA_TOO_COMPLEX", "INVALID_ARGUMENTS"]).toContain(getCode(tried));
    if (!tried.call.ok) expect(tried.call.error.message).toMatch(/is (too complex|faulty), so its arguments/);
    expect(ran()).toBe(0);
    expect(tried.cpuMs).toBeLessThan(500);
  });

  test("one within the limits compiles in 100 ms", async () => {
    const { run } = await openValidated({
      type: "object",
      properties: many(900),
      additionalProperties: false,
    });
    const tried = await run({ p1: "x" });
    expect(getCode(tried)).toBe("ok");
    expect(tried.cpuMs).toBeLessThan(100);
    expect(getCode(await run({ other: "x" }))).toBe("INVALID_ARGUMENTS");
  });

  test("a recursive one is checked as deep as the arguments go", async () => {
    const { run } = await openValidated({
      type: "object",
      properties: { a: { $ref: "#" } },
      additionalProperties: false,
    });
    expect(getCode(await run({ a: { a: { a: {} } } }))).toBe("ok");
    expect(getCode(await run({ a: { a: { b: {} } } }))).toBe("INVALID_ARGUMENTS");
  });
});

describe("fault 30: a schema that refers to another document", () => {
  test("is refused, and nothing is fetched", async () => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests++;
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
    for (const schema of [
      { $ref: url },
      { $schema: url },
      { properties: { a: { $ref: `${url}#/$defs/a` } } },
      { $id: url, properties: { a: { $ref: "other.json" } } },
      { $dynamicRef: url },
      { properties: { a: { $schema: url } } },
      { $ref: "file:///etc/passwd" },
      { $ref: "other.json" },
      { $ref: "http://[" },
    ]) {
      const { run, ran } = await openValidated(schema);
      const tried = await run({});
      expect(getCode(tried)).toBe("SCHEMA_UNSUPPORTED");
      expect(!tried.call.ok && tried.call.error.message).toBe(
        'The input schema of "s:t" refers to another document, and none is ever fetched, so its arguments cannot be checked.',
      );
      expect(ran()).toBe(0);
    }
    expect(requests).toBe(0);
  });

  test.each<[string, JsonObject]>([
    ["a known dialect", { $schema: "http://json-schema.org/draft-07/schema#" }],
    ["the newest dialect", { $schema: "https://json-schema.org/draft/2020-12/schema" }],
    [
      "its own id",
      {
        $id: "https://example.com/a.json",
        properties: { a: { $ref: "https://example.com/a.json#/$defs/n" } },
        $defs: { n: { type: "number" } },
      },
    ],
    [
      "a part of it that has an id",
      { properties: { a: { $ref: "n.json" } }, $defs: { n: { $id: "n.json", type: "number" } } },
    ],
    ["a property of that name", { properties: { $ref: { type: "string" }, $schema: { type: "string" } } }],
    ["data that looks like one", { properties: { a: { default: { $ref: "http://example.com" } } } }],
  ])("%s is no other document", async (_what, schema) => {
    const { run } = await openValidated(schema);
    expect(getCode(await run({ a: 1 }))).toBe("ok");
  });
});

test("fault 31: two tools whose schemas have the same id are checked each by its own", async () => {
  const $id = "https://example.com/same";
  const tools = ["string", "number"].map((type) => ({
    name: type,
    inputSchema: { $id, properties: { a: { type, pattern: "^a" } } },
    run: () => textResult("ran"),
  }));
  const gateway = await createGateway({ plugins: [validate(), localTools("s", { id: "s" }, tools)] });
  const ok = async (tool: string, a: unknown) => (await gateway.run({ tool: `s:${tool}`, args: { a } })).ok;
  expect([await ok("string", "ax"), await ok("number", "ax")]).toEqual([true, false]);
  expect([await ok("string", 1), await ok("number", 1)]).toEqual([false, true]);
  await gateway.close();
});

test("fault 32: keys that reach a prototype are refused wherever they are in arguments, and change nothing", async () => {
  const { run, ran } = await openValidated({ type: "object" });
  const key = fc.constantFrom('"__proto__":{"polluted":1}', '"constructor":{"prototype":{"polluted":1}}');
  const wrap = fc.array(fc.constantFrom<[string, string]>(["[", "]"], ['{"a":', "}"], ['[1,{"b":[', "]}]"]), {
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(key, wrap, async (bad, wraps) => {
      const text = wraps.reduce((inner, [before, after]) => `${before}${inner}${after}`, `{${bad}}`);
      expect(getCode(await run(JSON.parse(`{"x":${text}}`)))).toBe("FORBIDDEN_KEY");
      expect(({} as JsonObject)["polluted"]).toBeUndefined();
    }),
    { numRuns: 50 },
  );
  expect(ran()).toBe(0);
});

test("fault 33: inherited properties do not satisfy required arguments", async () => {
  for (const name of ["toString", "constructor", "hasOwnProperty", "valueOf"]) {
    const { run } = await openValidated({ type: "object", required: [name] });
    expect(getCode(await run({}))).toBe("INVALID_ARGUMENTS");
    expect(getCode(await run({ [name]: 1 }))).toBe("ok");
  }
});

describe("fault 34: numbers that are not what was sent", () => {
  test.each<[string, JsonObject]>([
    ["an integer", { type: "integer" }],
    ["an integer or nothing", { type: ["integer", "null"] }],
    ["an integer with a larger limit", { type: "integer", maximum: 9.3e18, minimum: -9.3e18 }],
    ["an integer by reference", { $ref: "#/$defs/i" }],
  ])("beyond 2^53 are refused where the schema says %s", async (_what, a) => {
    const { run } = await openValidated({
      type: "object",
      properties: { a },
      $defs: { i: { type: "integer" } },
    });
    const with_ = (number: string): Promise<Tried> => run(JSON.parse(`{"a":${number}}`));
    for (const number of ["9007199254740993", "-9007199254740993", "1e300"])
      expect(getCode(await with_(number))).toBe("INVALID_ARGUMENTS");
    for (const number of ["9007199254740991", "-9007199254740991", "0"])
      expect(getCode(await with_(number))).toBe("ok");
  });

  test("pass where the schema says number, and keep narrower limits", async () => {
    const { run } = await openValidated({
      properties: { a: { type: "number" }, b: { type: "integer", maximum: 5 } },
    });
    expect(getCode(await run({ a: 1e300 }))).toBe("ok");
    expect(getCode(await run({ b: 6 }))).toBe("INVALID_ARGUMENTS");
  });

  test("and those that JSON cannot hold are refused", async () => {
    const { run } = await openValidated({ type: "object" });
    for (const a of [Number.NaN, Infinity, -Infinity, 5n, Symbol("a"), () => 1])
      expect(getCode(await run({ a }))).toBe("INVALID_ARGUMENTS");
  });
});

test("fault 35: arguments of 50 MB are refused before anyone walks, hashes or checks them", async () => {
  const { run, ran } = await openValidated({ type: "object" });
  for (const args of [
    { a: "x".repeat(50_000_000) },
    { a: Array.from({ length: 2_000_000 }, (_, index) => index) },
    { a: "\u0000".repeat(500_000) },
  ]) {
    const tried = await run(args);
    expect(getCode(tried)).toBe("ARGUMENTS_TOO_LARGE");
    expect(tried.cpuMs).toBeLessThan(500);
  }
  expect(ran()).toBe(0);
});

describe("properties by pattern", () => {
  const labels = {
    type: "object",
    properties: { "x-own": { type: "number" }, inner: { $ref: "#" } },
    patternProperties: { "^x-": { maximum: 5 }, "-s$": { type: "string" } },
    additionalProperties: false,
  };

  test.each<[boolean, unknown]>([
    [true, {}],
    [true, { "x-own": 5 }],
    [false, { "x-own": 6 }],
    [false, { "x-own": "a" }],
    [true, { "x-a": "text", "b-s": "text" }],
    [false, { "x-a": 6 }],
    [false, { "b-s": 1 }],
    [true, { "x-b-s": "text" }],
    [false, { "x-b-s": 1 }],
    [false, { other: 1 }],
    [true, { inner: { inner: { "x-a": 1 } } }],
    [false, { inner: { inner: { "x-a": 9 } } }],
    [false, { inner: { other: 1 }, "x-a": 1 }],
  ])("%s: %j", async (fits, args) => {
    const { run } = await openValidated(labels);
    expect((await run(args)).call.ok).toBe(fits);
  });

  test("count as evaluated, and are found by reference", async () => {
    const { run } = await openValidated({
      allOf: [{ patternProperties: { "^x-": { type: "string" } } }],
      properties: { y: { $ref: "#/allOf/0/patternProperties/%5Ex-" } },
      unevaluatedProperties: false,
    });
    expect(getCode(await run({ "x-a": "b", y: "c" }))).toBe("ok");
    expect(getCode(await run({ y: 1 }))).toBe("INVALID_ARGUMENTS");
    expect(getCode(await run({ z: "b" }))).toBe("INVALID_ARGUMENTS");
  });
});
