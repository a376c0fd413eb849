import { expect, test } from "vitest";
import { compilePattern } from "../../../plugins/rules/pattern.ts";

test.each(["/(a|a)*$/", "/^(a+)+$/", "/(.*)*x$/", "*a".repeat(25), `${"*?".repeat(25)}b`])(
  "fault 28: the rule %s takes no time on a name that is made for it",
  async (source) => {
    const { matches } = await compilePattern(source);
    // The least of three: the first has to be compiled, and a collection of garbage may fall into any.
    const times = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      matches(`${"a".repeat(20_000)}!`);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    expect(Math.min(...times)).toBeLessThan(100);
  },
);
