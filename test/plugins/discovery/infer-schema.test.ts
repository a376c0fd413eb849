import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inferSchema } from "../../../plugins/discovery/introspect-output.ts";
import { copySchema } from "../../../plugins/lib/schema/copy.ts";

describe("the schema of an answer", () => {
  test.each<[unknown, object]>([
    [{}, { type: "object" }],
    [[], { type: "array" }],
    [
      { id: 1, score: 1.5, ok: true, name: "a", none: null },
      {
        type: "object",
        properties: {
          id: { type: "integer" },
          score: { type: "number" },
          ok: { type: "boolean" },
          name: { type: "string" },
          none: { type: "null" },
        },
        required: ["id", "score", "ok", "name", "none"],
      },
    ],
    [[1, 2], { type: "array", items: { type: "integer" } }],
    [[1, 2.5], { type: "array", items: { type: "number" } }],
    [["a", null], { type: "array", items: { type: ["string", "null"] } }],
    [
      [{ id: 1 }, { id: 2, note: "x" }],
      {
        type: "array",
        items: {
          type: "object",
          properties: { id: { type: "integer" }, note: { type: "string" } },
          required: ["id"],
        },
      },
    ],
    [[[], [1]], { type: "array", items: { type: "array", items: { type: "integer" } } }],
  ])("%j is %j", (value, schema) => {
    expect(inferSchema(value)).toEqual(schema);
  });

  test("names no keys where there are so many that they are data", () => {
    const map = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`user-${index}`, index]));
    expect(inferSchema(map)).toEqual({ type: "object" });
  });

  test("of any value is one that the value fits, and is the same for the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const schema = inferSchema(value);
        expect(copySchema(schema).check(value).valid).toBe(true);
        expect(inferSchema(structuredClone(value))).toEqual(schema);
      }),
    );
  });

  test("of a list does not depend on how often its elements come", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 10 }), (list) => {
        expect(inferSchema([...list, ...list])).toEqual(inferSchema(list));
      }),
    );
  });

  test("of a value that is nested endlessly deep has an end", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level++) deep = [{ deep }];
    expect(JSON.stringify(inferSchema(deep)).length).toBeLessThan(2_000);
  });
});
