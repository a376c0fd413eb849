import { expect, test } from "vitest";
import type { ParameterEncoding, Style } from "../../../plugins/openapi/parameters.ts";
import { encodeValue, toHeaderString, toPathString, toQueryPairs } from "../../../plugins/openapi/style.ts";

const list = ["blue", "black", "brown"];
const object = { R: 100, G: 200, B: 150 };
const none = undefined;

function writing(style: Style, explode: boolean): ParameterEncoding {
  return { style, explode, allowReserved: false, json: false };
}

function query(style: Style, explode: boolean, value: unknown): string {
  return toQueryPairs("color", value, writing(style, explode))
    .map(([name, text]) => `${name}=${text}`)
    .join("&");
}

// The table "Style Examples" of the OpenAPI specification (3.1.1, 4.8.12.4), row by row: empty, string, array, object.
const inPath: [Style, boolean, string | undefined, string, string, string][] = [
  ["simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["simple", true, "", "blue", "blue,black,brown", "R=100,G=200,B=150"],
  ["label", false, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
  ["label", true, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
  ["matrix", false, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
  ["matrix", true, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
];
test.each(inPath)(
  "a path parameter of style %s, explode %s, is written as the specification shows",
  (style, explode, ...row) => {
    const written = ["", "blue", list, object].map((value) =>
      toPathString("color", value, writing(style, explode)),
    );
    expect(written).toEqual(row);
  },
);

const inQuery: [Style, boolean, string | undefined, string, string, string][] = [
  ["form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["form", true, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
  [
    "spaceDelimited",
    false,
    none,
    "color=blue",
    "color=blue%20black%20brown",
    "color=R%20100%20G%20200%20B%20150",
  ],
  [
    "pipeDelimited",
    false,
    none,
    "color=blue",
    "color=blue%7Cblack%7Cbrown",
    "color=R%7C100%7CG%7C200%7CB%7C150",
  ],
];
test.each(inQuery)(
  "a query parameter of style %s, explode %s, is written as the specification shows",
  (style, explode, empty, ...row) => {
    expect(["blue", list, object].map((value) => query(style, explode, value))).toEqual(row);
    if (empty !== undefined) expect(query(style, explode, "")).toBe(empty);
  },
);

test("an object of style deepObject is written with its names in brackets, as the specification shows", () => {
  expect(query("deepObject", true, object)).toBe("color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150");
});

test("lists and objects inside a deepObject are numbered and named", () => {
  const pairs = toQueryPairs("items", [{ price: "p1", tags: ["a"] }], writing("deepObject", true));
  expect(pairs.map(([name, value]) => `${decodeURIComponent(name)}=${value}`)).toEqual([
    "items[0][price]=p1",
    "items[0][tags][0]=a",
  ]);
});

test.each([
  ["simple", false, "blue,black,brown", "R,100,G,200,B,150"],
  ["simple", true, "blue,black,brown", "R=100,G=200,B=150"],
] as const)(
  "a header of style %s, explode %s, is written as the specification shows",
  (style, explode, ...row) => {
    expect([list, object].map((value) => toHeaderString(value, writing(style, explode)))).toEqual(row);
  },
);

test("a value cannot become another parameter, another path or a fragment", () => {
  expect(query("form", true, "a&b=c#d")).toBe("color=a%26b%3Dc%23d");
  expect(toPathString("id", "a/b?c#d", writing("simple", false))).toBe("a%2Fb%3Fc%23d");
});

test("reserved characters are kept where they are allowed, except those that end the value", () => {
  expect(encodeValue("a:/?@!$'()*,;=b&c#d+e", true)).toBe("a:/?@!$'()*,;=b%26c%23d%2Be");
});

test("half of a character is written as a mark, and not refused", () => {
  expect(encodeValue("a\ud800b")).toBe("a%EF%BF%BDb");
});

test("nothing is written of an absent value, an empty list or an empty object", () => {
  for (const value of [undefined, null, [], {}]) expect(query("form", true, value)).toBe("");
});
