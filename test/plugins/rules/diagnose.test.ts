import { expect, test } from "vitest";
import { diagnoseRules } from "../../../plugins/rules/diagnose.ts";
import { type Conflict, compileRules, type ToolRule } from "../../../plugins/rules/mod.ts";

const catalog: Readonly<Record<string, readonly string[]>> = {
  github: ["create_issue", "delete_issue", "list_repos"],
  filesystem: ["read_file", "list_directory", "get_info", "write_file"],
};

/** The faults that rules have with the tools of the catalog, as lines. */
async function diagnose(
  rules: readonly ToolRule[],
  { unknown = [], conflict }: { unknown?: string[]; conflict?: Conflict } = {},
): Promise<string[]> {
  const known = Object.entries(catalog).filter(([server]) => !unknown.includes(server));
  const reports = await diagnoseRules(await compileRules(rules, conflict), {
    servers: Object.keys(catalog),
    tools: known.flatMap(([server, names]) => names.map((name) => ({ server, name }))),
    unknown: new Set(unknown),
    isDestructive: ({ name }) => name.startsWith("delete"),
  });
  return reports.map(({ rule, fault, reason }) => `${rule} ${fault}: ${reason}`);
}

test("rules that work are not named", async () => {
  expect(
    await diagnose([
      { pattern: ["*delete*"], enabled: false },
      { pattern: ["!*delete*", "*"], enabled: true },
      { server: "github", pattern: ["*issue*"], tags: ["issues"] },
    ]),
  ).toEqual([]);
});

test("a word boundary beside an underscore is named with the expression that would work", async () => {
  const lines = await diagnose([
    { server: "github", pattern: ["*"], enabled: true },
    { server: "filesystem", pattern: ["/\\b(read|list|get)\\b/i"], enabled: true },
  ]);
  expect(lines).toEqual([
    '2 word-boundary: Its pattern /\\b(read|list|get)\\b/i needs a word boundary, and "_" is none in names: it misses filesystem:read_file, filesystem:list_directory, filesystem:get_info. No tool of "filesystem" is enabled. Write /(?:\\b|_)(read|list|get)(?:\\b|_)/i',
  ]);
  const better = await compileRules([{ pattern: ["/(?:\\b|_)(read|list|get)(?:\\b|_)/i"], enabled: true }]);
  expect(catalog["filesystem"]?.filter((name) => better.decide("filesystem", name).enabled)).toEqual([
    "read_file",
    "list_directory",
    "get_info",
  ]);
});

test("a server without an enabled tool is blamed on the rule that decides about all of its tools, else on the enabling one", async () => {
  const boundary = { server: "filesystem", pattern: ["/\\b(read|list|get)\\b/"], enabled: true };
  expect(await diagnose([boundary, { pattern: ["write_*"], enabled: false }])).toEqual([
    expect.stringContaining("1 word-boundary: "),
    expect.stringContaining(
      '1 empty-server: It enables tools, so all others are disabled, and no rule enables one of "github"',
    ),
  ]);
  expect(await diagnose([{ server: "github", pattern: ["*"], enabled: false }])).toEqual([
    '1 empty-server: It leaves "github" without an enabled tool: all of its 3 tools are disabled.',
  ]);
});

test("a word boundary is named before the tools are known", async () => {
  const rule = { server: "filesystem", pattern: ["/\\bread\\b/"], enabled: true };
  expect(await diagnose([rule], { unknown: ["filesystem"] })).toEqual([
    expect.stringContaining("1 word-boundary: "),
    expect.stringContaining('no rule enables one of "github"'),
  ]);
});

test.each([
  ["*GitHub*", "github:*"],
  ["github_*", "github:*"],
  ["github_create_*", "github:create_*"],
  ["issue", "*issue*"],
  ["/ISSUE/", "/ISSUE/i"],
  ["creat_issue", "create_issue"],
  ["!*github*", "!github:*"],
])("a rule %s that matches no tool is named with %s", async (pattern, better) => {
  expect(
    await diagnose([
      { pattern: [pattern], enabled: false },
      { pattern: ["x"], tags: ["t"] },
    ]),
  ).toContain(`1 unmatched: It matches no tool. Write "${better}" instead of "${pattern}"?`);
});

test("a rule without any similar tool has no suggestion, and one for unknown tools no fault", async () => {
  const rule = { pattern: ["nothing_like_this_at_all"], enabled: false };
  expect(await diagnose([rule])).toEqual(["1 unmatched: It matches no tool."]);
  expect(await diagnose([rule], { unknown: ["github"] })).toEqual([]);
});

test("a rule that disables, behind one that enables a destructive tool, is named", async () => {
  const rules = [
    { pattern: ["*issue*", "read_*"], enabled: true },
    { pattern: ["*delete*", "write*"], enabled: false },
  ];
  expect((await diagnose(rules))[0]).toBe(
    '2 shadowed: Rule 1 comes first and enables github:delete_issue. Put it before rule 1, add "!*delete*", "!write*" to rule 1, or write "toolRules": { "conflict": "deny-wins", "rules": […] }.',
  );
  expect(await diagnose(rules, { conflict: "deny-wins" })).toEqual([]);
});

test("an exception for a tool that destroys nothing is not named", async () => {
  const rules = [
    { pattern: ["read_file"], enabled: true },
    { pattern: ["*file*"], enabled: false },
    { server: "github", pattern: ["*"], enabled: true },
  ];
  expect(await diagnose(rules)).toEqual([]);
});

test("a rule that can never decide is named, also before the tools are known", async () => {
  const rules = [
    { pattern: ["*"], enabled: true },
    { pattern: ["*delete*"], enabled: false },
  ];
  expect(await diagnose(rules, { unknown: ["github", "filesystem"] })).toEqual([
    expect.stringContaining("2 shadowed: Rule 1 comes first and enables all tools."),
  ]);
  expect(await diagnose(rules.toReversed())).toEqual([]);
});

test("a server without an enabled tool is named with the rule that leaves it so", async () => {
  expect(await diagnose([{ server: "github", pattern: ["*"], enabled: true }])).toEqual([
    '1 empty-server: It enables tools, so all others are disabled, and no rule enables one of "filesystem" (4 there). To enable them, add { "server": "filesystem", "pattern": ["*"], "enabled": true }.',
  ]);
  expect(await diagnose([{ server: "github", pattern: ["*"], enabled: false }])).toEqual([
    '1 empty-server: It leaves "github" without an enabled tool: all of its 3 tools are disabled.',
  ]);
});

test("a rule that neither decides nor tags is named, unless it only excludes", async () => {
  expect(await diagnose([{ pattern: ["*"] }])).toEqual([
    '1 no-effect: It has neither "enabled" nor "tags", so it changes nothing.',
  ]);
  expect(await diagnose([{ pattern: ["!*delete*"] }])).toEqual([]);
});
