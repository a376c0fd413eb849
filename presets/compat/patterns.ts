import * as re2js from "re2js";
import { compileRulesWith, type RuleSet, rules as rulesPlugin } from "../../plugins/rules/mod.ts";
import { toDiscoveryError } from "./errors.ts";
import type { CompatToolMetadata, CompatToolRule } from "./types.ts";

/** Compiles rules. Throws a `ConfigurationError` that names the rule, and what of it cannot be used. */
export function compileToolRules(rules: readonly CompatToolRule[]): RuleSet {
  try {
    // A plugin checks its options when it is created.
    rulesPlugin({ toolRules: [...rules] });
    return compileRulesWith(rules, re2js);
  } catch (thrown) {
    throw toDiscoveryError(thrown);
  }
}

/**
 * Whether patterns match the name of a tool: globs, `/regular expressions/`, and exclusions with `!`, which count
 * wherever they stand.
 *
 * @example
 * ```ts
 * import { matchPattern } from "toolpipe/anygpt";
 *
 * matchPattern("create_issue", ["*issue*", "!*delete*"]); // true
 * ```
 */
export function matchPattern(toolName: string, patterns: readonly string[]): boolean {
  return matchRule(toolName, "", { pattern: [...patterns] });
}

/** Whether one glob or regular expression matches the name of a tool. */
export function matchSinglePattern(toolName: string, pattern: string): boolean {
  return matchPattern(toolName, [pattern]);
}

/** Matches names of tools against patterns and rules. */
export class PatternMatcher {
  match(toolName: string, patterns: readonly string[]): boolean {
    return matchPattern(toolName, patterns);
  }

  matchWithServer(toolName: string, serverName: string, rule: CompatToolRule): boolean {
    return matchRule(toolName, serverName, rule);
  }
}

/** Applies rules to tools: the first that matches decides, and the tags of all that match are added. */
export function applyToolRules(
  tools: readonly CompatToolMetadata[],
  rules: readonly CompatToolRule[],
): CompatToolMetadata[] {
  const { decide } = compileToolRules(rules);
  return tools.map((tool) => {
    const { enabled, tags } = decide(tool.server, tool.name);
    return { ...tool, enabled, tags: [...new Set([...tool.tags, ...tags])] };
  });
}

const MATCHED = "matched";

/** A rule that only tags shows by its tag whether it matches. */
function matchRule(toolName: string, serverName: string, { pattern, server }: CompatToolRule): boolean {
  if (pattern.length === 0) return false;
  const rule = { pattern, tags: [MATCHED], ...(server !== undefined && { server }) };
  return compileToolRules([rule]).decide(serverName, toolName).tags.includes(MATCHED);
}
