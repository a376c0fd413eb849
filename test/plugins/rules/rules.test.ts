import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileRules, type ToolRule } from "../../../plugins/rules/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { shortest } from "../../support/shortest.ts";
import { byTheProse } from "./_prose.ts";

/** The names of a list that rules leave enabled. */
async function enabled(
  rules: readonly ToolRule[],
  names: readonly string[],
  server = "s",
): Promise<string[]> {
  const { decide } = await compileRules(rules);
  return names.filter((name) => decide(server, name).enabled);
}

describe("rules", () => {
  test("that are not there leave everything enabled", async () => {
    expect(await enabled([], ["a", "b"])).toEqual(["a", "b"]);
  });

  test("that only disable leave the rest enabled", async () => {
    expect(await enabled([{ pattern: ["*delete*"], enabled: false }], ["read", "delete_all"])).toEqual([
      "read",
    ]);
  });

  test("of which one enables disable everything else", async () => {
    expect(await enabled([{ pattern: ["read_*"], enabled: true }], ["read_file", "write_file"])).toEqual([
      "read_file",
    ]);
  });

  test("decide by the first that matches, though a later one says otherwise", async () => {
    const allowFirst = [
      { pattern: ["*"], enabled: true },
      { pattern: ["*delete*"], enabled: false },
    ];
    expect(await enabled(allowFirst, ["read", "delete"])).toEqual(["read", "delete"]);
    expect(await enabled(allowFirst.toReversed(), ["read", "delete"])).toEqual(["read"]);
    // The specification's sample code would let the second rule overrule the first.
    const disableFirst = [
      { pattern: ["*delete*"], enabled: false },
      { pattern: ["*"], enabled: true },
    ];
    expect(await enabled(disableFirst, ["read", "delete"])).toEqual(["read"]);
  });

  test("without enabled decide nothing", async () => {
    expect(
      await enabled(
        [
          { pattern: ["*"], tags: ["x"] },
          { pattern: ["a"], enabled: false },
        ],
        ["a", "b"],
      ),
    ).toEqual(["b"]);
  });

  test("for a server leave the tools of others alone", async () => {
    const rules = [{ server: "github", pattern: ["*"], enabled: false, tags: ["hub"] }];
    expect(await enabled(rules, ["a"], "github")).toEqual([]);
    expect(await enabled(rules, ["a"], "gitlab")).toEqual(["a"]);
    expect(await enabled(rules, ["a"], "GitHub")).toEqual(["a"]);
  });

  test("look at the name of a tool and not at its server", async () => {
    expect(await enabled([{ pattern: ["*github*"], enabled: false }], ["create_issue"], "github")).toEqual([
      "create_issue",
    ]);
  });

  test("exclude what a pattern with an exclamation mark matches, wherever it stands", async () => {
    const names = ["github_read", "github_delete", "other"];
    for (const pattern of [
      ["!*delete*", "*github*"],
      ["*github*", "!*delete*"],
      ["github_read", "!*delete*", "*github*"],
    ])
      expect(await enabled([{ pattern, enabled: true }], names)).toEqual(["github_read"]);
    const { decide } = await compileRules([
      { pattern: ["*github*", "/issue/", "!*delete*"], enabled: true, tags: ["safe"] },
    ]);
    expect(decide("github", "delete_issue")).toMatchObject({ enabled: false, tags: [] });
    expect(decide("github", "create_issue")).toMatchObject({ enabled: true, tags: ["safe"] });
  });

  test("of exclusions alone mean all but those", async () => {
    const names = ["read", "delete_all", "Delete_one"];
    expect(await enabled([{ pattern: ["!*delete*"], enabled: true }], names)).toEqual(["read"]);
    expect(await enabled([{ pattern: ["!*delete*"] }], names)).toEqual(["read"]);
    expect(await enabled([{ pattern: ["!*delete*"], enabled: false }], names)).toEqual([
      "delete_all",
      "Delete_one",
    ]);
    const { decide } = await compileRules([{ pattern: ["!*delete*"], tags: ["safe"] }]);
    expect(decide("s", "delete_all")).toMatchObject({ enabled: true, tags: [] });
    expect(decide("s", "read").tags).toEqual(["safe"]);
    const { decide: decideBare } = await compileRules([{ pattern: ["!*delete*"] }]);
    expect(decideBare("s", "delete_all").because).toBe("Rule 1 (!*delete*) disables it.");
  });

  test("match globs in any case, and regular expressions as they are written", async () => {
    const names = ["CreateIssue", "createissue", "CREATEISSUE"];
    expect(await enabled([{ pattern: ["create*"], enabled: true }], names)).toEqual(names);
    expect(await enabled([{ pattern: ["/^create/"], enabled: true }], names)).toEqual(["createissue"]);
  });

  test("with a colon match server and tool, and regular expressions with one the name alone", async () => {
    const rules = [{ pattern: ["git*:*issue*", "files:read"], enabled: true }];
    expect(await enabled(rules, ["create_issue", "read"], "GitHub")).toEqual(["create_issue"]);
    expect(await enabled(rules, ["create_issue", "read"], "files")).toEqual(["read"]);
    expect(await enabled([{ pattern: ["/files:read/"], enabled: false }], ["read"], "files")).toEqual([
      "read",
    ]);
    expect(await enabled([{ pattern: ["*", "!files:*"], enabled: true }], ["read"], "files")).toEqual([]);
  });

  test("where denial wins disable what any rule disables", async () => {
    const list = [
      { pattern: ["*"], enabled: true, tags: ["all"] },
      { pattern: ["*delete*"], enabled: false, tags: ["dangerous"] },
    ];
    const { decide } = await compileRules(list, "deny-wins");
    expect(decide("s", "read")).toMatchObject({ enabled: true });
    expect(decide("s", "delete")).toMatchObject({
      enabled: false,
      tags: ["all", "dangerous"],
      because: "Rule 2 (*delete*) disables it.",
    });
    expect((await compileRules(list)).decide("s", "delete").enabled).toBe(true);
  });

  test("collect the tags of all that match, each once", async () => {
    const { decide } = await compileRules([
      { pattern: ["*issue*"], enabled: true, tags: ["issues", "github"] },
      { pattern: ["create_*"], enabled: false, tags: ["write", "github"] },
      { pattern: ["*", "!*"], tags: ["never"] },
    ]);
    expect(decide("s", "create_issue")).toMatchObject({ enabled: true, tags: ["issues", "github", "write"] });
    expect(decide("s", "other")).toMatchObject({ enabled: false, tags: [] });
  });

  test("say why", async () => {
    const { decide } = await compileRules([
      { pattern: ["*"], tags: ["all"] },
      { pattern: ["*delete*", "*rm*"], enabled: false },
      { pattern: ["read_*"], enabled: true },
    ]);
    expect(decide("s", "rm").because).toBe("Rule 2 (*delete*, *rm*) disables it.");
    expect(decide("s", "read_it").because).toBe("Rule 3 (read_*) enables it.");
    expect(decide("s", "write_it").because).toContain("No rule enables it");
    const { decide: decideFreely } = await compileRules([{ pattern: ["a"], enabled: false }]);
    expect(decideFreely("s", "b").because).toBe("No rule disables it.");
  });

  test("decide as the prose of the specification says, whatever they are", async () => {
    const pattern = fc
      .tuple(
        fc.constantFrom("", "", "!"),
        fc.oneof(
          fc.string({ unit: fc.constantFrom(..."ab_*?"), minLength: 1, maxLength: 4 }),
          fc.constantFrom("/a/", "/^a|b$/", "/A/i", "/^[ab]+$/", "/a.b/s", "/_/g", "[!a]*", "[ab]*"),
        ),
      )
      .map((parts) => parts.join(""));
    const rule = fc.record(
      {
        pattern: fc.array(pattern, { minLength: 1, maxLength: 3 }),
        server: fc.constantFrom("x", "y"),
        enabled: fc.boolean(),
        tags: fc.array(fc.constantFrom("t", "u", "v"), { maxLength: 3 }),
      },
      { requiredKeys: ["pattern"] },
    );
    const tool = fc.tuple(
      fc.constantFrom("x", "y", "z"),
      fc.string({ unit: fc.constantFrom(..."ab_"), minLength: 1, maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { maxLength: 6 }),
        fc.array(tool, { minLength: 1, maxLength: 5 }),
        async (rules, tools) => {
          const { decide } = await compileRules(rules);
          for (const [server, name] of tools) {
            expect(decide(server, name)).toMatchObject(byTheProse(rules, server, name));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("name rule and pattern if one cannot be used", async () => {
    const error = await catchFailure(compileRules([{ pattern: ["a"] }, { pattern: ["b", "!/(?=x)/"] }]));
    expect(error).toMatchObject({ code: "PLUGIN_INVALID", data: { rule: 2, pattern: "!/(?=x)/" } });
    expect(error.message).toContain('the pattern "!/(?=x)/" of rule 2');
  });

  test("decide about 10,000 tools by 50 rules in less than a second, on a slow machine and with coverage on", async () => {
    const rules = Array.from({ length: 50 }, (_, index): ToolRule => {
      if (index % 10 === 0) return { pattern: [`/^(create|update)_.*${index}$/i`], enabled: true };
      if (index % 5 === 1) return { server: `server${index}`, pattern: ["*"], enabled: true, tags: ["own"] };
      return {
        pattern: ["!*safe*", `*delete_${index}*`, `[a-f]?_${index}*`],
        enabled: false,
        tags: [`t${index}`],
      };
    });
    const { decide } = await compileRules(rules);
    const names = Array.from({ length: 10_000 }, (_, index) => `create_issue_comment_${index}`);
    const decideAll = (): void => names.forEach((name, index) => void decide(`server${index % 100}`, name));
    expect(shortest(decideAll)).toBeLessThan(1_000);
  });
});
