import type { ToolRule } from "../../../plugins/rules/mod.ts";
import { slowGlob } from "../../support/slow-glob.ts";

/** Applies rules as the specification describes them, sentence by sentence. */
export function byTheProse(
  rules: readonly ToolRule[],
  server: string,
  tool: string,
): { enabled: boolean; tags: string[] } {
  const isOwn = (rule: ToolRule): boolean => rule.server === undefined || rule.server === server;
  const fits = (pattern: string): boolean => matchesSingle(pattern.replace(/^!/, ""), tool);
  const isExcluded = (rule: ToolRule): boolean =>
    rule.pattern.some((pattern) => pattern.startsWith("!") && fits(pattern));
  const isExclusion = (rule: ToolRule): boolean => rule.pattern.every((pattern) => pattern.startsWith("!"));
  // Server-specific rules are for that server only; exclusions alone mean everything but them.
  const matching = rules.filter(
    (rule) =>
      isOwn(rule) &&
      !isExcluded(rule) &&
      (isExclusion(rule) || rule.pattern.some((pattern) => !pattern.startsWith("!") && fits(pattern))),
  );
  // The first match determines enabled or disabled; exclusions that say nothing else disable what they exclude.
  const decisions = rules.map((rule) => {
    if (matching.includes(rule)) return rule.enabled;
    const isBare = isExclusion(rule) && rule.enabled === undefined && !rule.tags?.length;
    return isBare && isOwn(rule) ? false : undefined;
  });
  const decisive = decisions.find((enabled) => enabled !== undefined);
  // If any rule has `enabled: true`, the default is disabled.
  const isAllowList = rules.some((rule) => rule.enabled === true);
  // Tags accumulate from all matching rules, and are deduplicated.
  const tags = matching
    .flatMap((rule) => rule.tags ?? [])
    .filter((tag, index, all) => all.indexOf(tag) === index);
  return { enabled: decisive ?? !isAllowList, tags };
}

function matchesSingle(pattern: string, tool: string): boolean {
  const [, body, flags] = /^\/(.+)\/([a-z]*)$/.exec(pattern) ?? [];
  return body === undefined
    ? slowGlob(pattern.toLowerCase(), tool.toLowerCase())
    : new RegExp(body, flags).test(tool);
}
