import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseData, readDataFile } from "../../core/mod.ts";
import { catchFailure } from "../support/failure.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("parseData", () => {
  const expected = { name: "x", list: [1, 2.5, true, null, "two"], nested: { a: { b: "c" } } };

  test("reads JSON with comments, trailing commas and a byte order mark", async () => {
    const text = `\uFEFF// first
      { "name": "x", /* and */ "list": [1, 2.5, true, null, "two",], "nested": { "a": { "b": "c", }, }, } // last`;
    expect(await parseData(text, "a.json")).toEqual(expected);
  });

  test.each(["a.yaml", "a.yml", "A.YAML"])("reads YAML as %s, with a byte order mark", async (file) => {
    const text = "\uFEFF# first\nname: x\nlist: [1, 2.5, true, null, two]\nnested:\n  a:\n    b: c\n";
    expect(await parseData(text, file)).toEqual(expected);
  });

  test("reads TOML, with a byte order mark", async () => {
    const text = `\uFEFF# first\nname = "x"\nlist = [1, 2.5, true, "two"]\n[nested.a]\nb = "c"\n`;
    expect(await parseData(text, "a.toml")).toEqual({ ...expected, list: [1, 2.5, true, "two"] });
  });

  test("reads a file of any other ending as JSON", async () => {
    expect(await parseData("[1]", ".claude.config")).toEqual([1]);
  });

  test("follows the aliases of YAML, in a circle too", async () => {
    const value = (await parseData("a: &a { self: *a }\nb: *a\n", "a.yaml")) as Record<
      string,
      { self: unknown }
    >;
    expect(value["b"]).toBe(value["a"]);
    expect(value["a"]?.self).toBe(value["a"]);
  });

  test("reads back whatever JSON can hold", async () => {
    const value = fc.jsonValue().filter((json) => !JSON.stringify(json).includes("__proto__"));
    await fc.assert(
      fc.asyncProperty(value, fc.constantFrom(0, 2, "\t"), async (json, indent) => {
        const text = JSON.stringify(json, null, indent);
        expect(await parseData(text, "a.json")).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ["a.json", `{\n  "a": 1\n  "b": 2\n}`, "a.json:3:3: comma expected."],
    ["a.json", `{\r\n  "a": 1,\r\n  "b": tru\r\n}`, "a.json:3:8: invalid symbol."],
    ["a.json", `{ "a": [1, 2 }`, "a.json:1:14: comma expected."],
    ["a.json", `{ "a": 1 } { "b": 2 }`, "a.json:1:12: end of file expected."],
    ["a.json", `{ "a": "open`, "a.json:1:8: unexpected end of string."],
    ["a.json", "  ", "a.json:1:3: value expected."],
    ["a.json", `{ "a": {\n"__proto__": 1 } }`, `a.json:2:1: the key "__proto__" is not allowed.`],
    ["a.json", "[".repeat(100_000), "a.json:1:1: it is nested too deeply."],
    ["a.yaml", "a: 1\na: 2\n", "a.yaml:2:1: duplicated mapping key."],
    ["a.yaml", "a:\n  - b\n c: [", "a.yaml:3:2: "],
    ["a.yaml", "a: { b: { __proto__: 1 } }", "a.yaml: a.b.__proto__: this key is not allowed."],
    ["a.yaml", "- { __proto__: 1 }", "a.yaml: 0.__proto__: this key is not allowed."],
    ["a.yaml", "a: 1\n---\nb: 2\n", "a.yaml:"],
    ["a.toml", `a = 1\nb = = 2\n`, "a.toml:2:"],
    ["a.toml", `[a.__proto__]\nb = 1\n`, "a.toml: a.__proto__: this key is not allowed."],
  ])("names the place of a fault in %s: %j", async (file, text, message) => {
    const error = await catchFailure(parseData(text, file));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("\n");
  });

  test("includes the position as data", async () => {
    const error = await catchFailure(parseData(`{\n  "a" 1 }`, "a.json"));
    expect(error.data).toEqual({ file: "a.json", line: 2, column: 7 });
  });

  test("fails on any string with one line or not at all, and touches no prototype", async () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"',
      "a",
      "__proto__",
      "- ",
      "\n",
      " ",
      "=",
      "&x ",
      "*x",
      "1",
      "!t ",
      "#",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("")),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom("a.json", "a.yaml", "a.toml"), async (content, file) => {
        const outcome = await parseData(content, file).catch((error: unknown) => ({ error }));
        const thrown = (outcome as { error?: unknown } | null)?.error;
        if (thrown instanceof Error) {
          expect(thrown).toMatchObject({ name: "GatewayError", code: "CONFIG_INVALID" });
          expect(thrown.message).not.toMatch(/[\r\n]/);
          expect(thrown.message.startsWith(file)).toBe(true);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("readDataFile", () => {
  test("reads a file by the ending of its name", async () => {
    const folder = await temporaryFolder({ "a.json": `{ "a": 1 }`, "b.yaml": "a: 2", "c.toml": "a = 3" });
    expect(await readDataFile(join(folder, "a.json"))).toEqual({ a: 1 });
    expect(await readDataFile(join(folder, "b.yaml"))).toEqual({ a: 2 });
    expect(await readDataFile(join(folder, "c.toml"))).toEqual({ a: 3 });
  });

  test("reads a file again every time", async () => {
    const folder = await temporaryFolder({ "a.json": "1" });
    const file = join(folder, "a.json");
    expect(await readDataFile(file)).toBe(1);
    await writeFile(file, "2");
    expect(await readDataFile(file)).toBe(2);
  });

  test("names a file that is not there, or that is a folder", async () => {
    const folder = await temporaryFolder({ "a.json/b": "" });
    const missing = await catchFailure(readDataFile(join(folder, "b.json")));
    expect(missing.message).toBe(`${join(folder, "b.json")}: cannot be read (ENOENT).`);
    const isFolder = await catchFailure(readDataFile(join(folder, "a.json")));
    expect(isFolder.message).toBe(`${join(folder, "a.json")}: cannot be read (EISDIR).`);
    expect(isFolder.kind.exit).toBe(2);
  });
});
