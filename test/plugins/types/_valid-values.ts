import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { JsonObject } from "../../../core/mod.ts";

/** A schema, and values that it allows. */
export interface Sample {
  readonly schema: JsonObject;
  readonly values: readonly unknown[];
}

const names = fc.constantFrom("a", "b", "c-d", "x-y", "1", "new", "it's");

const leaf: fc.Arbitrary<Sample> = fc.oneof(
  createLeaf({ type: "string" }, fc.string()),
  createLeaf({ type: "integer" }, fc.integer()),
  createLeaf({ type: "number" }, fc.double({ noNaN: true, noDefaultInfinity: true })),
  createLeaf({ type: ["boolean", "null"] }, fc.oneof(fc.boolean(), fc.constant(null))),
  createLeaf({}, fc.jsonValue({ maxDepth: 1 })),
  fc
    .array(
      fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant([1, "x"]), fc.constant({ k: [1] })),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    .map((values) => ({ schema: { enum: values }, values })),
);

function createLeaf(schema: JsonObject, value: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> {
  return fc.array(value, { minLength: 2, maxLength: 3 }).map((values) => ({ schema, values }));
}

const { any } = fc.letrec<{ any: Sample }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    createObject(tie("any")),
    fc.record({ item: tie("any"), least: fc.nat(1) }).map(({ item, least }) => ({
      schema: { type: "array", items: item.schema, minItems: least },
      values: [item.values, item.values.slice(0, 1), []],
    })),
    fc
      .record({
        heads: fc.array(tie("any"), { minLength: 1, maxLength: 2 }),
        least: fc.nat(2),
        rest: tie("any"),
      })
      .map(({ heads, least, rest }) => ({
        schema: {
          type: "array",
          prefixItems: heads.map(({ schema }) => schema),
          minItems: least,
          items: rest.schema,
        },
        values: [
          heads.map(({ values }) => values[0]),
          [...heads.map(({ values }) => values[0]), ...rest.values],
          heads.slice(0, 1).map(({ values }) => values[0]),
          [],
        ],
      })),
    fc.tuple(tie("any"), tie("any"), fc.constantFrom("anyOf", "oneOf")).map(([one, other, word]) => ({
      schema: { [word]: [one.schema, other.schema] },
      values: [...one.values, ...other.values],
    })),
    fc.tuple(createObject(tie("any")), createObject(tie("any"))).map(([one, other]) => ({
      schema: { allOf: [one.schema, other.schema] },
      values: one.values.map((value, index) => Object.assign({}, value, other.values[index] ?? {})),
    })),
  ),
}));

function createObject(inner: fc.Arbitrary<Sample>): fc.Arbitrary<Sample> {
  return fc
    .record({
      properties: fc.dictionary(names, fc.record({ inner, required: fc.boolean() }), { maxKeys: 3 }),
      others: fc.oneof(fc.constant(undefined), fc.boolean(), inner),
      pattern: fc.option(fc.record({ name: fc.constantFrom("^x-", "^[m-p]", ".*"), inner })),
    })
    .map(({ properties, others, pattern }) => {
      const entries = Object.entries(properties);
      const extra = typeof others === "object" ? others.values : others === false ? [] : [1, "one", null];
      const schema = {
        type: "object",
        properties: Object.fromEntries(
          entries.map(
            ([
              name,
              {
                inner: { schema: own },
              },
            ]) => [name, own],
          ),
        ),
        required: entries.filter(([, { required }]) => required).map(([name]) => name),
        ...(others === undefined
          ? {}
          : { additionalProperties: typeof others === "object" ? others.schema : others }),
        ...(pattern ? { patternProperties: { [pattern.name]: pattern.inner.schema } } : {}),
      };
      const full = (index: number): JsonObject =>
        Object.fromEntries(
          entries.map(
            ([
              name,
              {
                inner: { values },
              },
            ]) => [name, values[index % values.length] ?? null],
          ),
        );
      const least = Object.fromEntries(
        Object.entries(full(0)).filter(([name]) => properties[name]?.required),
      );
      const more = Object.fromEntries(extra.map((value, index) => [`other${index}`, value]));
      const [first = null, second = first] = pattern?.inner.values ?? [];
      const matching = pattern ? { "x-1": first, n: second } : {};
      return { schema, values: [full(0), least, { ...full(1), ...more }, { ...least, ...matching }] };
    });
}

/** Schemas with values that each of them surely allows, whatever it is made of. */
export const validValues: fc.Arbitrary<Sample> = fc
  .record({ one: any, other: any, shared: fc.boolean() })
  .map(({ one, other, shared }) => {
    if (!shared) return one;
    const again = { $ref: "#/$defs/one" };
    const schema = {
      $defs: { one: one.schema, "odd name": { ...other.schema } },
      type: "object",
      properties: { first: again, list: { type: "array", items: again }, whole: { $ref: "#" } },
      additionalProperties: { $ref: "#/$defs/odd%20name" },
    };
    const values = one.values.map((first) => ({
      first,
      list: one.values,
      whole: { first },
      else: other.values[0],
    }));
    return { schema, values };
  })
  .map(({ schema, values }) => {
    const validator = new Validator(schema as Schema, "2020-12", false);
    return { schema, values: values.filter((value) => validator.validate(value).valid) };
  });
