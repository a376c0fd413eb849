import { expect, test } from "vitest";
import { GatewayError } from "../../../core/mod.ts";
import { parseCapability, parseRtfsType, printRtfsType, rtfs, rtfsType } from "../../../plugins/types/mod.ts";
import { manifest } from "../../contracts/type-emitter.ts";
import { sampleSchemas } from "../../support/any-schema.ts";

test("a printed type parses back to an equal type, and prints to an equal string", () => {
  for (const schema of sampleSchemas()) {
    const type = rtfsType(schema);
    const text = printRtfsType(type);
    // As texts, since comparing large values part by part takes long.
    expect(JSON.stringify(parseRtfsType(text))).toBe(JSON.stringify(type));
    expect(printRtfsType(parseRtfsType(text))).toBe(text);
  }
});

test("the layout, commas and remarks mean nothing", () => {
  const text = "[:map, ; what it takes\n[:a\n{:optional true}\t:string ] [:b{:optional false}:int]]; done";
  expect(printRtfsType(parseRtfsType(text))).toBe("[:map\n  [:a {:optional true} :string]\n  [:b :int]]");
});

/** Returns the message for a string that cannot be parsed. */
function refusal(read: () => unknown): GatewayError {
  try {
    read();
  } catch (error) {
    if (GatewayError.is(error)) return error;
  }
  throw new Error("It was read.");
}

test.each([
  ["nothing", "", "it ends too early (line 1, column 1)"],
  ["what is not closed", "[:vector\n  [:map", '"[" is never closed (line 2, column 3)'],
  ["a string that is not closed", '[:map ["a :string]]', "a string is never closed (line 1, column 8)"],
  ["what was not open", "[:vector :int]]", "there is more after its end (line 1, column 15)"],
  ["what closes something else", "[:vector :int)", '")" closes what is not open (line 1, column 14)'],
  ["two types", ":int :int", "there is more after its end (line 1, column 6)"],
  ["a type that does not exist", "[:vector :text]", "a type was expected (line 1, column 10)"],
  ["a list of two", "[:vector :int :int]", "a type was expected (line 1, column 1)"],
  ["a choice of none", "[:union]", "a type was expected (line 1, column 1)"],
  ["an entry without a type", "[:map [:a]]", "an entry of a map was expected (line 1, column 7)"],
  ["an entry with a number for a key", "[:map [5 :int]]", "a name was expected (line 1, column 8)"],
  ["keys that are no texts", "[:map-of :int :int]", "keys can only be :string (line 1, column 10)"],
])("%s is refused with its place", (_what, text, why) => {
  const error = refusal(() => parseRtfsType(text));
  expect(error.code).toBe("RTFS_INVALID");
  expect(error.message).toBe(`This RTFS cannot be read: ${why}.`);
});

const file = rtfs.declaration(manifest({}));

test.each([
  ["another form", "[:map]", "a capability was expected (line 1, column 1)"],
  [
    "one without a description",
    file.replace(/:description.*\n/, ""),
    '":description" is missing (line 1, column 1)',
  ],
  ["one without a tool", file.replace(/:tool-name "\w+"/, ""), '":tool-name" is missing (line 5, column 13)'],
  [
    "one that says something twice",
    file.replace(":version", ":domains"),
    '":domains" occurs twice (line 8, column 3)',
  ],
  [
    "one that says half of something",
    file.replace('"1.0.0"', ""),
    "keys and values were expected (line 1, column 1)",
  ],
  ["a number for a string", file.replace('"1.0.0"', "1"), "a string was expected (line 2, column 12)"],
  [
    "a text for a list",
    file.replace('["crud.read"]', '"crud.read"'),
    "a list of strings was expected (line 9, column 15)",
  ],
])("%s is refused with its place", (_what, text, why) => {
  const error = refusal(() => parseCapability(text));
  expect([error.code, error.message]).toEqual(["RTFS_INVALID", `This RTFS cannot be read: ${why}.`]);
});

test("refuses files that are too deep or too long, and accepts long strings", () => {
  expect(refusal(() => parseRtfsType("[:vector ".repeat(100_000))).message).toContain("nested deeper");
  expect(refusal(() => parseRtfsType(" ".repeat(5_000_000))).message).toContain("longer than");
  const tool = manifest({ description: '\\"\n'.repeat(300_000) });
  expect(parseCapability(`${" \n".repeat(100_000)}${rtfs.declaration(tool)}`).description).toBe(
    tool.description,
  );
});
