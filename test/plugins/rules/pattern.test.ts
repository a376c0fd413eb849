import { describe, expect, test } from "vitest";
import { compilePattern } from "../../../plugins/rules/pattern.ts";
import { shortest } from "../../support/shortest.ts";

async function matched(source: string, texts: readonly string[]): Promise<string[]> {
  const { matches } = await compilePattern(source);
  return texts.filter(matches);
}

describe("a pattern", () => {
  test("between slashes is a regular expression that may match anywhere in the name", async () => {
    const names = ["create_issue", "update_issue", "fs_read", "fs_write_all"];
    expect(await matched("/issue/", names)).toEqual(["create_issue", "update_issue"]);
    expect(await matched("/^fs_(read|write)$/", names)).toEqual(["fs_read"]);
    expect(await matched("/^(create|update)_/", names)).toEqual(["create_issue", "update_issue"]);
  });

  test("keeps its slashes inside", async () => {
    expect(await matched("/^a\\/b$/", ["a/b", "ab"])).toEqual(["a/b"]);
    expect(await matched("/^a/b$/", ["a/b", "ab"])).toEqual(["a/b"]);
  });

  test("knows word boundaries, escapes and named groups as JavaScript writes them", async () => {
    expect(await matched("/\\b(read|list)\\b/", ["read file", "read-file", "reader", "read_file"])).toEqual([
      "read file",
      "read-file",
    ]);
    expect(await matched("/^\\u0061(?<rest>.)$/", ["ab", "bb"])).toEqual(["ab"]);
  });

  test.each([
    ["/GITHUB/i", ["my_github", "my_gitlab"], ["my_github"]],
    ["/^b$/m", ["a\nb", "ab"], ["a\nb"]],
    ["/^b$/", ["a\nb", "b"], ["b"]],
    ["/a.b/s", ["a\nb", "a-b"], ["a\nb", "a-b"]],
    ["/a.b/", ["a\nb", "a-b"], ["a-b"]],
    ["/^.$/u", ["😀"], ["😀"]],
    ["/a/gy", ["ba", "ba", "ba"], ["ba", "ba", "ba"]],
    ["/A.B/ims", ["a\nb"], ["a\nb"]],
  ])("has the flags of %s", async (source, texts, expected) => {
    expect(await matched(source, texts)).toEqual(expected);
  });

  test("with an exclamation mark is negated, whatever it is", async () => {
    expect(await compilePattern("!*delete*")).toMatchObject({ source: "!*delete*", negated: true });
    expect((await compilePattern("!*delete*")).matches("delete_all")).toBe(true);
    expect((await compilePattern("!/del/i")).matches("Delete")).toBe(true);
    expect(await compilePattern("delete!")).toMatchObject({ negated: false });
  });

  test("with one slash, or none at its start, is a glob", async () => {
    expect(await matched("/", ["/", "a"])).toEqual(["/"]);
    expect(await matched("/a", ["/a", "a"])).toEqual(["/a"]);
    expect(await matched("a/b/", ["a/b/", "a"])).toEqual(["a/b/"]);
  });

  test.each([
    ["", "it is empty"],
    ["!", "it is empty"],
    ["//", "its regular expression is empty"],
    ["/a/x", 'it has the flag "x"'],
    ["/a/b/c/", undefined],
    ["/(/", "missing closing )"],
    ["/(?=a)/", "unsupported"],
    ["/(a)\\1/", "invalid escape sequence"],
    ["/(a{900}){900}/", "invalid repeat count"],
    ["[b-a]", "runs backwards"],
    ["a".repeat(1_001), "longer than 1000 characters"],
  ])("such as %.20s is refused, with the reason", async (source, reason) => {
    const failure = await compilePattern(source).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (reason === undefined) return expect(failure).toBeUndefined();
    expect(failure).toBeInstanceOf(SyntaxError);
    expect((failure as SyntaxError).message).toContain(reason);
  });

  test("cannot stall the process", async () => {
    for (const source of ["/^(a+)+$/", "/(a|a)*$/", "/(.*a){12}/"]) {
      const { matches } = await compilePattern(source);
      expect(shortest(() => matches(`${"a".repeat(5_000)}!`))).toBeLessThan(500);
    }
  });
});
