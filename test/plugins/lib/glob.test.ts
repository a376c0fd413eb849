import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileGlob } from "../../../plugins/lib/glob.ts";
import { shortest } from "../../support/shortest.ts";
import { slowGlob } from "../../support/slow-glob.ts";

/** The texts of a list that a glob matches. */
function matched(pattern: string, texts: readonly string[]): string[] {
  return texts.filter(compileGlob(pattern));
}

describe("a glob", () => {
  test("without wildcards matches itself only, in its own case", () => {
    expect(
      matched("create_issue", ["create_issue", "create_issues", "a_create_issue", "Create_Issue", ""]),
    ).toEqual(["create_issue"]);
  });

  test("matches as the specification's examples say", () => {
    const names = [
      "github_create",
      "my_github_tool",
      "create_issue",
      "issue_create",
      "delete_repo",
      "undelete",
    ];
    expect(matched("*github*", names)).toEqual(["github_create", "my_github_tool"]);
    expect(matched("github_*", names)).toEqual(["github_create"]);
    expect(matched("*_issue", names)).toEqual(["create_issue"]);
    expect(matched("*delete*", names)).toEqual(["delete_repo", "undelete"]);
    expect(matched("*", names)).toEqual(names);
  });

  test("takes a question mark for exactly one character, however many bytes it has", () => {
    expect(matched("a?c", ["abc", "ac", "abbc", "a😀c", "aéc"])).toEqual(["abc", "a😀c", "aéc"]);
    expect(matched("*?😀", ["😀", "a😀", "😀😀"])).toEqual(["a😀", "😀😀"]);
  });

  test("takes brackets for one of a set or a range, and for none of them after an exclamation mark", () => {
    expect(matched("v[12]", ["v1", "v2", "v3", "v", "v12"])).toEqual(["v1", "v2"]);
    expect(matched("v[0-9a-f]", ["v7", "vc", "vg", "v-"])).toEqual(["v7", "vc"]);
    expect(matched("[!a-z]*", ["Abc", "abc", "_x", ""])).toEqual(["Abc", "_x"]);
    expect(matched("[a-]", ["a", "-", "b"])).toEqual(["a", "-"]);
    expect(matched("[]]", ["]", "[", "[]]"])).toEqual(["]"]);
  });

  test("takes a bracket that is never closed for itself", () => {
    expect(matched("a[b", ["a[b", "ab", "a"])).toEqual(["a[b"]);
    expect(matched("[!]", ["[!]", "!", "a"])).toEqual(["[!]"]);
  });

  test("gives no meaning to characters that have one in regular expressions", () => {
    expect(matched("a.b+(c)|$", ["a.b+(c)|$", "axb+(c)|$"])).toEqual(["a.b+(c)|$"]);
  });

  test("cannot have a range that runs backwards", () => {
    expect(() => compileGlob("[z-a]")).toThrow(SyntaxError);
  });

  test("matches what trying everything matches", () => {
    const pattern = fc.string({ unit: fc.constantFrom(..."ab*?[]!^-", "*", "😀"), maxLength: 9 });
    const text = fc.string({ unit: fc.constantFrom(..."ab-]", "😀"), maxLength: 9 });
    fc.assert(
      fc.property(pattern, text, (glob, name) => {
        let matcher: ReturnType<typeof compileGlob>;
        try {
          matcher = compileGlob(glob);
        } catch {
          return /\[.*-.*\]/.test(glob);
        }
        return matcher(name) === slowGlob(glob, name);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    ["many stars that all fit", "*a".repeat(25), "a".repeat(50_000)],
    ["many stars of which the last does not fit", "*a".repeat(25), `${"a".repeat(50_000)}b`],
    ["question marks between stars", `${"*?a".repeat(25)}*c`, "a".repeat(50_000)],
    ["sets between stars", `${"*[a-b]".repeat(25)}c*`, "ab".repeat(25_000)],
    ["a long piece that almost fits everywhere", `*${"a".repeat(25)}b*`, "a".repeat(50_000)],
    ["nothing but stars", "*".repeat(900), "a".repeat(50_000)],
  ])("is not stalled by %s", (_what, pattern, text) => {
    const matcher = compileGlob(pattern);
    expect(shortest(() => matcher(text))).toBeLessThan(300);
  });
});
