import { expect, test } from "vitest";
import { compilePattern } from "../../../plugins/rules/pattern.ts";

test.each(["/(a|a)*$/", "/^(a+)+$/", "/(.*)*x$/", "*a".repeat(25), `${"*?".repeat(25)}b`])(
  "fault 28: the rule %s takes no time on a name that is made for it",
  async (source) => {
    const { matches } = await compilePattern(source);
    const before = process.cpuUsage();
    matches(`${"a".repeat(20_000)}!`);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(100);
  },
);
