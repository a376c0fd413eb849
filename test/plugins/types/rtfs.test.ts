import { expect, test } from "vitest";
import { printRtfsType, rtfs, rtfsType } from "../../../plugins/types/mod.ts";

const text = { type: "string" };
const issue = {
  type: "object",
  properties: { owner: text, repo: text, state: { type: "string", enum: ["open", "closed", "all"] } },
  required: ["owner", "repo"],
};

test("the specification's example is written as it stands there", () => {
  expect(rtfs.type(issue)).toBe(`[:map
  [:owner :string]
  [:repo :string]
  [:state {:optional true} :string]]`);
});

test.each([
  // The table of the specification, row by row.
  ["a text", text, ":string"],
  ["a whole number", { type: "integer" }, ":int"],
  ["a number", { type: "number" }, ":float"],
  ["a yes or no", { type: "boolean" }, ":bool"],
  ["a list", { type: "array", items: text }, "[:vector :string]"],
  ["a list of anything", { type: "array" }, "[:vector :any]"],
  ["an object of anything", { type: "object" }, "[:map]"],
  ["null", { type: "null" }, ":any"],
  ["nullable by type", { type: ["string", "null"] }, ":any"],
  ["nullable as OpenAPI says it", { type: "string", nullable: true }, ":any"],
  ["nullable by choice", { anyOf: [text, { type: "null" }] }, ":any"],
  ["an enum of texts", { enum: ["a", "b"] }, ":string"],
  ["a constant text", { const: "a" }, ":string"],
  // Cases that the table does not cover.
  ["an enum of whole numbers", { enum: [1, 2] }, ":int"],
  ["an enum of numbers", { type: "number", enum: [1, 2] }, ":float"],
  ["an enum of several types", { enum: ["a", 1, true, 0.5] }, "[:union :string :int :bool :float]"],
  ["an enum with null", { enum: ["a", null] }, ":any"],
  ["an enum of objects and lists", { enum: [{ a: 1 }, [1]] }, "[:union [:map] [:vector :any]]"],
  ["several types", { type: ["string", "integer"] }, "[:union :string :int]"],
  ["a choice", { anyOf: [text, { type: "integer" }, text] }, "[:union :string :int]"],
  [
    "a choice within a choice",
    { oneOf: [text, { anyOf: [text, { type: "boolean" }] }] },
    "[:union :string :bool]",
  ],
  ["a choice that may be anything", { oneOf: [text, {}] }, ":any"],
  ["values by keys", { type: "object", additionalProperties: { type: "integer" } }, "[:map-of :string :int]"],
  ["values by patterns", { type: "object", patternProperties: { "^x-": text } }, "[:map-of :string :string]"],
  [
    "keys that are known, and others",
    { properties: { a: text }, additionalProperties: text },
    "[:map\n  [:a {:optional true} :string]\n  [:* :string]]",
  ],
  [
    "other keys that are just allowed",
    { properties: { a: text }, additionalProperties: true },
    "[:map\n  [:a {:optional true} :string]]",
  ],
  [
    "other keys that are forbidden",
    { properties: { a: text }, additionalProperties: false },
    "[:map\n  [:a {:optional true} :string]]",
  ],
  ["a key that is only required", { type: "object", required: ["a"] }, "[:map\n  [:a :any]]"],
  ["a pair", { prefixItems: [text, { type: "integer" }] }, "[:tuple :string :int]"],
  ["a pair of an older draft", { type: "array", items: [text, text] }, "[:tuple :string :string]"],
  ["a pair and more", { prefixItems: [text], items: { type: "integer" } }, "[:vector [:union :string :int]]"],
  [
    "a reference",
    { $defs: { id: { type: "integer" } }, type: "array", items: { $ref: "#/$defs/id" } },
    "[:vector :int]",
  ],
  ["a reference of an older draft", { definitions: { id: text }, $ref: "#/definitions/id" }, ":string"],
  [
    "a reference without an end",
    { properties: { next: { $ref: "#" } } },
    "[:map\n  [:next {:optional true} :any]]",
  ],
  ["a reference to another document", { $ref: "https://example.com/a.json" }, ":any"],
  [
    "all at once",
    { allOf: [{ properties: { a: text }, required: ["a"] }, { properties: { b: text } }] },
    "[:map\n  [:a :string]\n  [:b {:optional true} :string]]",
  ],
  [
    "all at once, of the same key",
    { allOf: [{ properties: { a: text } }, { properties: { a: {} }, required: ["a"] }] },
    "[:map\n  [:a :string]]",
  ],
  ["all at once, of several kinds", { allOf: [text, { type: "integer" }] }, "[:and :string :int]"],
  ["a whole number that is a number too", { allOf: [{ type: "number" }, { type: "integer" }] }, ":int"],
  [
    "a choice beside keys that only asks for keys",
    { properties: { a: text }, anyOf: [{ required: ["a"] }] },
    "[:map\n  [:a {:optional true} :string]]",
  ],
  ["what is not", { not: text }, ":any"],
  ["nothing at all", {}, ":any"],
  ["true", true, ":any"],
  ["false", false, ":never"],
  ["a key that must not be there", { properties: { a: false } }, "[:map\n  [:a {:optional true} :never]]"],
  ["no schema", 42, ":any"],
  ["a type that does not exist", { type: "file" }, ":any"],
  [
    "a key that is no keyword",
    { properties: { "two words": text, "*": text, 'q"': text, $top: text, "a.b": text } },
    '[:map\n  ["two words" {:optional true} :string]\n  ["*" {:optional true} :string]\n  ["q\\"" {:optional true} :string]\n  [:$top {:optional true} :string]\n  [:a.b {:optional true} :string]]',
  ],
])("%s", (_what, schema, type) => {
  expect(rtfs.type(schema)).toBe(type);
});

test("what is within is written further in, and a choice of long types has a line for each", () => {
  const point = { type: "object", properties: { x: { type: "number" } }, required: ["x"] };
  const schema = {
    type: "object",
    properties: { at: point, all: { type: "array", items: point }, one: { anyOf: [point, text] } },
    required: ["at", "all", "one"],
  };
  expect(rtfs.type(schema)).toBe(`[:map
  [:at [:map
    [:x :float]]]
  [:all [:vector [:map
    [:x :float]]]]
  [:one [:union
    [:map
      [:x :float]]
    :string]]]`);
});

test("a type is written from wherever it begins", () => {
  expect(printRtfsType(rtfsType({ properties: { a: text } }), 4)).toBe(
    "[:map\n      [:a {:optional true} :string]]",
  );
});
