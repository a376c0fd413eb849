import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkArguments } from "../../core/json.ts";
import { argumentLimits, checkJson, GatewayError, isJsonObject } from "../../core/mod.ts";

const limits = { depth: 5, size: 1_000 };

function catchCode(act: () => unknown): string | undefined {
  try {
    act();
  } catch (error) {
    return GatewayError.is(error) ? error.code : `not a GatewayError: ${error}`;
  }
}

function catchMessage(value: unknown): string {
  try {
    checkArguments(value);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

/** Objects and lists inside one another. */
function nested(levels: number): unknown {
  let value: unknown = "leaf";
  for (let level = 0; level < levels; level++) value = level % 2 ? { a: value } : [value];
  return value;
}

describe("isJsonObject", () => {
  test("plain objects are, also those without a prototype", () => {
    for (const value of [{}, { a: 1 }, Object.create(null), JSON.parse('{"__proto__":1}')]) {
      expect(isJsonObject(value)).toBe(true);
    }
  });

  test("nothing else is", () => {
    class Own {}
    const others = [[], null, undefined, "", 0, true, () => {}, new Own(), new Map(), new Date(0)];
    for (const value of [...others, Object.create({}), Object.create([])])
      expect(isJsonObject(value)).toBe(false);
  });
});

describe("checkArguments", () => {
  test("absent arguments are none", () => {
    expect(checkArguments(undefined)).toEqual({});
  });

  test("accepts any result of JSON.parse, unless a key reaches a prototype", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
        const parsed = JSON.parse(JSON.stringify(value));
        const code = catchCode(() => expect(checkArguments(parsed)).toBe(parsed));
        if (JSON.stringify(parsed).includes("__proto__"))
          expect([undefined, "FORBIDDEN_KEY"]).toContain(code);
        else expect(code).toBeUndefined();
      }),
    );
  });

  test("names the type found instead of an object", () => {
    expect(catchMessage(null)).toBe("The arguments must be a JSON object, but are null.");
    expect(catchMessage([])).toBe("The arguments must be a JSON object, but are an array.");
    expect(catchMessage("secret")).toBe("The arguments must be a JSON object, but are a string.");
    expect(catchMessage(new Map())).toBe("The arguments must be a JSON object, but are an instance of Map.");
    expect(catchMessage(Object.create({ constructor: undefined }))).toContain("an instance of a class");
  });

  test("it says where a value is that JSON cannot represent, and not what it is", () => {
    expect(catchMessage({ a: [{ b: () => "secret" }] })).toBe(
      'The value at "/a/0/b" is a function, which JSON cannot represent.',
    );
    expect(catchMessage({ a: Number.NaN })).toBe('The value at "/a" is NaN, which JSON cannot represent.');
  });
});

describe("checkJson", () => {
  test("exactly as many levels as allowed pass", () => {
    for (const depth of [1, 2, 5]) {
      expect(catchCode(() => checkJson(nested(depth), { ...limits, depth }))).toBeUndefined();
      expect(catchCode(() => checkJson(nested(depth + 1), { ...limits, depth }))).toBe("ARGUMENTS_TOO_DEEP");
    }
    expect(catchCode(() => checkJson(nested(argumentLimits.depth), argumentLimits))).toBeUndefined();
  });

  test("any depth and any cycle is refused quickly and without exhausting the stack", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle, cycle, { back: cycle });
    const mutual: Record<string, unknown> = { a: {} };
    (mutual["a"] as Record<string, unknown>)["b"] = mutual;
    for (const value of [nested(5_000), nested(200_000), cycle, mutual]) {
      expect(catchCode(() => checkJson(value, argumentLimits))).toMatch(/^ARGUMENTS_TOO_(DEEP|LARGE)$/);
    }
  });

  test("the same object in two places is no cycle", () => {
    const shared = { a: 1 };
    expect(catchCode(() => checkJson({ x: shared, y: [shared, shared] }, limits))).toBeUndefined();
  });

  test("strings, keys and the number of values all count towards the size", () => {
    const near = limits.size - 20;
    expect(catchCode(() => checkJson({ a: "x".repeat(near) }, limits))).toBeUndefined();
    for (const value of [
      { a: "x".repeat(limits.size) },
      { ["k".repeat(limits.size)]: 1 },
      new Array(limits.size).fill(null),
      new Array(1_000_000_000),
      Object.fromEntries(Array.from({ length: limits.size }, (_, index) => [index, 0])),
    ]) {
      expect(catchCode(() => checkJson(value, limits))).toBe("ARGUMENTS_TOO_LARGE");
    }
  });

  test("a value is too large exactly if its JSON is", () => {
    const value = fc.jsonValue({ stringUnit: "binary" });
    fc.assert(
      fc.property(value, fc.integer({ min: -30, max: 30 }), (given, offset) => {
        const bytes = Buffer.byteLength(JSON.stringify(given));
        const code = catchCode(() => checkJson(given, { depth: 100, size: bytes + offset }));
        if (code !== "FORBIDDEN_KEY") expect(code).toBe(offset < 0 ? "ARGUMENTS_TOO_LARGE" : undefined);
      }),
      { numRuns: 500 },
    );
  });

  test("long numbers count for what they are", () => {
    const value = new Array(450).fill(-Math.PI / 1e300);
    expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(10 * limits.size);
    expect(catchCode(() => checkJson(value, limits))).toBe("ARGUMENTS_TOO_LARGE");
  });

  test("characters of several bytes count for what they are", () => {
    const value = "\u0001".repeat(900);
    expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(5 * limits.size);
    expect(catchCode(() => checkJson(value, limits))).toBe("ARGUMENTS_TOO_LARGE");
  });

  test("the message stays short however long the keys are", () => {
    const message = catchMessage({ ["k".repeat(900_000)]: Number.NaN });
    expect(message).toContain("NaN");
    expect(message.length).toBeLessThan(10_000);
  });

  test("refuses a key that reaches a prototype at any level, and names its path", () => {
    const code = (json: string): string | undefined => catchCode(() => checkJson(JSON.parse(json), limits));
    expect(code('{"__proto__":{}}')).toBe("FORBIDDEN_KEY");
    expect(code('{"__proto__":null}')).toBe("FORBIDDEN_KEY");
    expect(code('[{"a":{"__proto__":1}}]')).toBe("FORBIDDEN_KEY");
    expect(code('{"constructor":{"prototype":{"x":1}}}')).toBe("FORBIDDEN_KEY");
    expect(code('{"a":[{"constructor":{"prototype":null}}]}')).toBe("FORBIDDEN_KEY");
    expect(catchMessage(JSON.parse('{"a":[{"__proto__":1}]}'))).toBe(
      'The key "__proto__" is not allowed (at "/a/0/__proto__").',
    );
  });

  test("words that only look like it are allowed", () => {
    const json = '{"constructor":"ACME","prototype":{"x":1},"proto":1,"a":{"constructor":{"name":"x"}}}';
    expect(catchCode(() => checkJson(JSON.parse(json), limits))).toBeUndefined();
  });

  test("throws only a GatewayError, whatever the input", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSparseArray: true,
          withSet: true,
        }),
        (value) => {
          expect([undefined, "INVALID_ARGUMENTS", "FORBIDDEN_KEY", "ARGUMENTS_TOO_LARGE"]).toContain(
            catchCode(() => checkJson(value, argumentLimits)),
          );
        },
      ),
    );
  });
});
