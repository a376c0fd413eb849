import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { describeIssue } from "../../core/issues.ts";

function describeFirst(schema: v.GenericSchema, input: unknown): string {
  const parsed = v.safeParse(schema, input);
  if (parsed.success) throw new Error("The input is right.");
  return describeIssue(parsed.issues[0], "its options");
}

const secret = "hunter2";

describe("an issue", () => {
  test("where, what was expected, what was found", () => {
    expect(describeFirst(v.strictObject({ ms: v.number() }), { ms: true })).toBe(
      "ms: expected number, found true",
    );
    expect(describeFirst(v.strictObject({ ms: v.pipe(v.number(), v.minValue(1)) }), { ms: 0 })).toBe(
      "ms: expected >=1, found 0",
    );
    expect(describeFirst(v.strictObject({ list: v.array(v.string()) }), { list: {} })).toBe(
      "list: expected Array, found Object",
    );
  });

  test("the path leads through objects and lists", () => {
    const schema = v.strictObject({ servers: v.array(v.strictObject({ port: v.number() })) });
    expect(describeFirst(schema, { servers: [{ port: 1 }, { port: null }] })).toBe(
      "servers.1.port: expected number, found null",
    );
  });

  test("the whole is named where there is no path", () => {
    expect(describeFirst(v.strictObject({}), null)).toBe("its options: expected Object, found null");
    expect(describeFirst(v.strictObject({}), 5)).toBe("its options: expected Object, found 5");
  });

  test("the schema's own words say what was expected", () => {
    const schema = v.strictObject({ ms: v.pipe(v.number(), v.minValue(1, "a number of milliseconds")) });
    expect(describeFirst(schema, { ms: 0 })).toBe("ms: expected a number of milliseconds, found 0");
  });

  test("an option that does not exist is called that", () => {
    const schema = v.strictObject({ ms: v.optional(v.number()) });
    expect(describeFirst(schema, { msec: secret })).toBe("msec: there is no such option");
  });

  test("an option that is missing has its path and was not found", () => {
    const schema = v.strictObject({ inner: v.strictObject({ url: v.string() }) });
    expect(describeFirst(schema, { inner: {} })).toMatch(/^inner\.url: expected .+, found nothing$/);
  });

  test("a missing option is described", () => {
    expect(describeFirst(v.strictObject({ url: v.string() }), {})).toBe(
      "url: expected a value, found nothing",
    );
  });

  test.each([v.object({ url: v.string() }), v.looseObject({ url: v.string() })])(
    "a missing option is reported as missing",
    (schema) => {
      expect(describeFirst(schema, {})).toBe("url: expected a value, found nothing");
    },
  );

  test("names the found value where one of a few words was expected", () => {
    const schema = v.strictObject({ level: v.picklist(["low", "high"]) });
    expect(describeFirst(schema, { level: "hihg" })).toBe('level: expected ("low" | "high"), found "hihg"');
    expect(describeFirst(schema, { level: "x".repeat(100) })).toBe(
      'level: expected ("low" | "high"), found a string',
    );
  });

  test("in a union, it speaks of what is inside", () => {
    const schema = v.strictObject({ to: v.union([v.string(), v.strictObject({ port: v.number() })]) });
    expect(describeFirst(schema, { to: { port: "x" } })).toBe("to.port: expected number, found a string");
  });

  test("in a union, it speaks of the alternative that was meant", () => {
    const file = v.strictObject({ kind: v.literal("file"), path: v.string() });
    const http = v.strictObject({ kind: v.literal("http"), port: v.number() });
    expect(
      describeFirst(v.strictObject({ to: v.union([file, http]) }), { to: { kind: "http", port: "x" } }),
    ).toBe("to.port: expected number, found a string");
  });

  test("in a union of any objects, it speaks of the alternative that was meant", () => {
    const file = v.object({ kind: v.literal("file"), path: v.string() });
    const http = v.object({ kind: v.literal("http"), port: v.number() });
    expect(
      describeFirst(v.strictObject({ to: v.union([file, http]) }), { to: { kind: "http", port: "x" } }),
    ).toBe("to.port: expected number, found a string");
  });
});

describe("secrets", () => {
  const kept: [what: string, schema: v.GenericSchema][] = [
    ["a number", v.number()],
    ["a boolean", v.literal(true)],
    ["an object", v.strictObject({})],
    ["a list", v.array(v.string())],
    ["a longer text", v.pipe(v.string(), v.minLength(40))],
    ["a URL", v.pipe(v.string(), v.url())],
    ["a text of a form", v.pipe(v.string(), v.regex(/^\d+$/))],
    [
      "a text that passes a check",
      v.pipe(
        v.string(),
        v.check(() => false),
      ),
    ],
    [
      "a text that passes a check with words of its own",
      v.pipe(
        v.string(),
        v.check(() => false, "a token"),
      ),
    ],
    ["an email address", v.pipe(v.string(), v.email())],
    ["a text that is not this one", v.pipe(v.string(), v.maxLength(2))],
  ];
  for (const [what, schema] of kept) {
    test(`a string instead of ${what} is not printed`, () => {
      const line = describeFirst(v.strictObject({ token: schema }), { token: secret });
      expect(line).toContain("token: expected ");
      expect(line).toContain("found a string");
      expect(line).not.toContain(secret);
    });
  }

  const leaked: [what: string, schema: v.GenericSchema][] = [
    ["a text with a given start", v.pipe(v.string(), v.startsWith("sk-"))],
    ["a text with a given end", v.pipe(v.string(), v.endsWith("=="))],
    ["a text with a given part", v.pipe(v.string(), v.includes("."))],
    ["a text of a form with a quotation mark", v.pipe(v.string(), v.regex(/^"\d+"$/))],
    ["a word or an object", v.union([v.literal("none"), v.strictObject({ token: v.string() })])],
  ];
  for (const [what, schema] of leaked) {
    test(`a string instead of ${what} is not printed`, () => {
      expect(describeFirst(v.strictObject({ token: schema }), { token: secret })).not.toContain(secret);
    });
  }
});
