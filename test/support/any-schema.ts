import fc from "fast-check";
import type { JsonObject } from "../../core/mod.ts";

function word(
  key: string,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<readonly [key: string, value: unknown]> {
  return value.map((each) => [key, each] as const);
}

/** Schemas as a stranger may write them: every keyword with every kind of value. */
export const anySchema: fc.Arbitrary<unknown> = fc.letrec((tie) => {
  const schema = tie("schema");
  const schemas = fc.array(schema, { maxLength: 3 });
  const named = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("a", "b", "constructor")), schema, {
    maxKeys: 3,
  });
  return {
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.oneof(fc.boolean(), fc.jsonValue({ maxDepth: 1 }), fc.constant({ type: "string" })),
      fc
        .uniqueArray(
          fc.oneof(
            word(
              "type",
              fc.oneof(
                fc.constantFrom("string", "integer", "number", "boolean", "object", "array", "null", "odd"),
                fc.array(fc.constantFrom("string", "object", "array", "null", 5)),
              ),
            ),
            word("enum", fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 4 })),
            word("const", fc.jsonValue({ maxDepth: 1 })),
            word("properties", fc.oneof(named, fc.jsonValue({ maxDepth: 1 }))),
            word("required", fc.oneof(fc.array(fc.constantFrom("a", "b")), fc.jsonValue({ maxDepth: 1 }))),
            word("additionalProperties", schema),
            word("patternProperties", named),
            word("items", fc.oneof(schema, schemas)),
            word("prefixItems", schemas),
            word("anyOf", schemas),
            word("oneOf", schemas),
            word("allOf", schemas),
            word("nullable", fc.boolean()),
            word("minItems", fc.integer({ min: -1, max: 3 })),
            word("$defs", named),
            word("$ref", fc.constantFrom("#", "#/$defs/a", "#/properties/a", "#/anyOf/0", "#/%", "x", 5)),
          ),
          { selector: ([key]) => key, maxLength: 6, size: "max" },
        )
        .map((words) => Object.fromEntries(words)),
    ),
  };
})["schema"] as fc.Arbitrary<unknown>;

/** Schemas that multiply what they say, go deeper than any stack, or have no end. */
export function endlessSchemas(): unknown[] {
  const doubled: JsonObject = {};
  for (let level = 0; level < 40; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    doubled[`d${level}`] = { properties: { a: next, b: next }, anyOf: [next, next], allOf: [next, next] };
  }
  let nested: JsonObject = { type: "string" };
  for (let level = 0; level < 20_000; level++) nested = { anyOf: [nested] };
  const cyclic: JsonObject = { type: "array" };
  cyclic["items"] = cyclic;
  return [{ $defs: doubled, $ref: "#/$defs/d0" }, nested, cyclic];
}

let samples: readonly unknown[] | undefined;

/** Some of them, made once since that takes a while: small ones, which say the most for their time, and a few large. */
export function sampleSchemas(): readonly unknown[] {
  if (samples) return samples;
  const all = fc.sample(anySchema, 300);
  const isSmall = (schema: unknown): boolean => JSON.stringify(schema).length < 3_000;
  samples = [...all.filter(isSmall), ...all.filter((schema) => !isSmall(schema)).slice(0, 5)];
  return samples;
}
