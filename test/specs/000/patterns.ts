import { matchPattern, matchSinglePattern, PatternMatcher, type ToolRule } from "toolpipe/anygpt";
import { expect } from "vitest";
import type { Specification } from "../specification.ts";
import { toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { openEngine, toNames } from "./world.ts";

const names = ["create_issue", "delete_issue", "get_github_user", "github_user", "list_repos", "Read file"];

/** Returns the names that a list of patterns matches. */
const listMatches = (...patterns: string[]): string[] => names.filter((name) => matchPattern(name, patterns));

const contradiction =
  "A rule that disables nothing of what it names would let a tool tagged safe delete: an exclusion holds wherever it stands, and exclusions alone mean all but those, as the comments of 001 promise.";

/** Lines 53 to 78: the matcher. Lines 345 to 381: its algorithm. Lines 540 to 551: its tasks. */
export function patternRows({ row, differs, added, prose }: Specification): void {
  prose(53, 57, 63, 71, 345, 347);

  row("55", "Names of tools are matched against globs and regular expressions, in one list.", () => {
    expect(listMatches("*_repos", "/^get_/")).toEqual(["get_github_user", "list_repos"]);
  });

  row(
    "58, 540, 547",
    "Globs: stars stand for any characters, a question mark for one, brackets for one of a set.",
    () => {
      expect(listMatches("*github*")).toEqual(["get_github_user", "github_user"]);
      expect(listMatches("github_*")).toEqual(["github_user"]);
      expect(listMatches("*_issue")).toEqual(["create_issue", "delete_issue"]);
      expect(listMatches("list_?epos")).toEqual(["list_repos"]);
      expect(listMatches("list_repo?s")).toEqual([]);
      expect(listMatches("[cd]*_issue")).toEqual(["create_issue", "delete_issue"]);
      expect(listMatches("[!c]*_issue")).toEqual(["delete_issue"]);
      expect(listMatches("[a-c]*_issue")).toEqual(["create_issue"]);
    },
  );

  row(
    "59, 541, 548",
    "Regular expressions: anchors, word boundaries, choices, and flags after the last slash.",
    () => {
      expect(listMatches("/^create_/")).toEqual(["create_issue"]);
      expect(listMatches("/\\b(read|list)\\b/i")).toEqual(["Read file"]);
      expect(listMatches("/\\b(read|list)\\b/")).toEqual([]);
      expect(listMatches("/^(?:create|delete)_issue$/")).toEqual(["create_issue", "delete_issue"]);
    },
  );

  row("58, 60, 73, 549", "An exclamation mark excludes what the pattern after it matches.", () => {
    expect(listMatches("!*delete*", "*issue*")).toEqual(["create_issue"]);
    expect(listMatches("!/^delete_/", "*issue*")).toEqual(["create_issue"]);
  });

  row(
    "61, 77, 550",
    "A rule with a server matches the tools of that server alone, one without those of all.",
    () => {
      const matcher = new PatternMatcher();
      const rule: ToolRule = { server: "github", pattern: ["*issue*"] };
      expect(matcher.matchWithServer("create_issue", "github", rule)).toBe(true);
      expect(matcher.matchWithServer("create_issue", "jira", rule)).toBe(false);
      expect(matcher.matchWithServer("list_repos", "github", rule)).toBe(false);
      expect(matcher.matchWithServer("create_issue", "jira", { pattern: ["*issue*"] })).toBe(true);
    },
  );

  row(
    "64-69, 543",
    "PatternMatcher answers for patterns, and for a rule with the server of the tool.",
    async () => {
      expect(await findTypeFaults("PatternMatcher")).toEqual([]);
      const matcher = new PatternMatcher();
      for (const name of names)
        for (const pattern of ["*issue*", "/^get_/", "!*delete*"])
          expect(matcher.match(name, [pattern])).toBe(matchPattern(name, [pattern]));
    },
  );

  row(
    "72, 76, 350-351, 361-367",
    "One matching pattern is enough, and where none matches the answer is no.",
    () => {
      expect(listMatches("zzz", "list_*", "/^nothing$/")).toEqual(["list_repos"]);
      expect(listMatches("zzz", "/^nothing$/")).toEqual([]);
      expect(listMatches()).toEqual([]);
    },
  );

  row("74-75, 369-379", "A pattern between slashes is a regular expression, any other a glob.", async () => {
    expect(await findTypeFaults("matchPattern", "matchSinglePattern")).toEqual([]);
    expect(matchSinglePattern("a.c", "a.c")).toBe(true);
    expect(matchSinglePattern("abc", "a.c")).toBe(false);
    expect(matchSinglePattern("abc", "/a.c/")).toBe(true);
    expect(matchSinglePattern("a/c", "a/*")).toBe(true);
    expect(matchSinglePattern("/", "/")).toBe(true);
  });

  row("352-358", "A name that an exclusion matches is out, whatever follows it in the list.", () => {
    expect(matchPattern("delete_issue", ["!delete_*", "*issue*", "*"])).toBe(false);
    expect(matchPattern("create_issue", ["!delete_*", "*issue*"])).toBe(true);
  });
  differs(
    "352-366",
    "An exclusion after the pattern that matches is not reached, and alone it matches nothing.",
    contradiction,
    () => {
      expect(matchPattern("delete_issue", ["*issue*", "!delete_*"])).toBe(false);
      expect(listMatches("!delete_*")).toEqual(names.filter((name) => !name.startsWith("delete_")));
    },
  );

  row("78, 381", "Rules of an engine match as the functions do: there is one matcher.", async () => {
    const github = ["create_issue", "update_issue", "list_repos", "delete_repo"];
    for (const pattern of [
      ["*issue*"],
      ["/^(list|delete)_/"],
      ["!*delete*"],
      ["*", "!*issue*"],
      ["[cl]*_?epos"],
    ]) {
      const toolRules = [{ pattern, enabled: true }];
      const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules });
      const enabled = toNames(await engine.listTools("github"));
      expect([pattern, enabled]).toEqual([pattern, github.filter((name) => matchPattern(name, pattern))]);
    }
  });

  added(
    "58-59, 78",
    "Globs ignore case, regular expressions only with i; a glob with a colon is for server:tool.",
    "Names of tools are written in every case; 001 matches a tool of one server by its full name.",
    () => {
      expect(matchPattern("Create_Issue", ["create_*"])).toBe(true);
      expect(matchPattern("Create_Issue", ["/^create_/"])).toBe(false);
      const matcher = new PatternMatcher();
      expect(matcher.matchWithServer("create_issue", "github", { pattern: ["github:*issue"] })).toBe(true);
      expect(matcher.matchWithServer("create_issue", "jira", { pattern: ["github:*issue"] })).toBe(false);
    },
  );
  added(
    "58-59, 369-379",
    "No pattern can stall: neither a nested regular expression nor a glob of many stars.",
    "A config may come from a project that someone else wrote.",
    () => {
      const name = `${"a".repeat(5_000)}!`;
      const start = performance.now();
      expect(matchPattern(name, ["/^(a+)+$/"])).toBe(false);
      expect(matchPattern(name, [`${"*a".repeat(200)}*b`])).toBe(false);
      expect(performance.now() - start).toBeLessThan(5_000);
    },
  );
}
