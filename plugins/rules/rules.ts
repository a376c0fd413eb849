import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import { option, trueOrFalse } from "../lib/options.ts";
import { compilePatternWith, loadRegexEngine, type Pattern, type RegexEngine } from "./pattern.ts";

const nonEmpty = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));

/** Schema of a rule, which decides about the tools that its patterns match. */
export const toolRule = v.strictObject({
  pattern: v.pipe(
    v.array(nonEmpty),
    v.minLength(1, "at least one pattern"),
    v.description(
      "Globs, which ignore case, and `/regular expressions/` for the names of tools; a glob with a colon is for `server:tool`. A pattern with `!` before it excludes tools, wherever it stands; exclusions alone mean all other tools, and without `enabled` and `tags` they disable what they exclude.",
    ),
    v.readonly(),
  ),
  server: option(nonEmpty, "Only the tools of this server."),
  enabled: option(
    trueOrFalse,
    "Whether the tools may be used. Of several rules with this field, the first counts.",
  ),
  tags: option(
    v.pipe(v.array(nonEmpty), v.readonly()),
    "Tags for the tools, in addition to those of other rules.",
  ),
});

/** Decides about the tools that its patterns match. */
export type ToolRule = v.InferOutput<typeof toolRule>;

/** How rules that disagree about a tool are settled: by the first of them, or by one that disables. */
export type Conflict = "first-match" | "deny-wins";

/** The decision of the rules about one tool. */
export interface Verdict {
  readonly enabled: boolean;
  /** Tags of all rules that match, each once, in the order of the rules. */
  readonly tags: readonly string[];
  /** The reason, in a sentence. */
  readonly because: string;
  /** Index of the rule that decides; undefined if the default does. */
  readonly rule?: number | undefined;
}

/** Compiled rules. */
export interface RuleSet {
  readonly rules: readonly CompiledRule[];
  /** Whether a rule enables tools, so that all others are disabled. */
  readonly isAllowList: boolean;
  readonly conflict: Conflict;
  decide(server: string, tool: string): Verdict;
}

/** Effect of a rule on a tool: `tags` alone, or a decision too. */
export interface Effect {
  readonly enabled: boolean | undefined;
  /** Whether the tags of the rule are for the tool. */
  readonly matches: boolean;
}

/** One compiled rule. */
export interface CompiledRule {
  readonly rule: ToolRule;
  readonly patterns: readonly Pattern[];
  /** Returns the effect on a tool; undefined if there is none. */
  effect(server: string, tool: string): Effect | undefined;
}

/** Compiles rules. Throws `PLUGIN_INVALID`, naming rule and pattern, if one cannot be used. */
export async function compileRules(
  rules: readonly ToolRule[],
  conflict: Conflict = "first-match",
): Promise<RuleSet> {
  const engine = await loadRegexEngine(rules.flatMap(({ pattern }) => pattern));
  return compileRulesWith(rules, engine, conflict);
}

/** Compiles rules at once, with an engine of regular expressions that is loaded already. */
export function compileRulesWith(
  rules: readonly ToolRule[],
  engine: RegexEngine | undefined,
  conflict: Conflict = "first-match",
): RuleSet {
  const compiled = rules.map((rule, index) => compileRule(rule, index + 1, engine));
  const isAllowList = rules.some((rule) => rule.enabled === true);
  const undecided = isAllowList
    ? "No rule enables it, and where there is a rule that enables tools, all others are disabled."
    : "No rule disables it.";

  return {
    rules: compiled,
    isAllowList,
    conflict,
    decide(server, tool) {
      let decisive: number | undefined;
      let enabled: boolean | undefined;
      let tags: Set<string> | undefined;
      for (const [index, { rule, effect }] of compiled.entries()) {
        const isOpen = enabled === undefined || (enabled && conflict === "deny-wins");
        // The rule can change nothing any more.
        if (!rule.tags && !isOpen) continue;
        const own = effect(server, tool);
        if (!own) continue;
        if (own.enabled !== undefined && (enabled === undefined || (isOpen && !own.enabled))) {
          enabled = own.enabled;
          decisive = index;
        }
        if (rule.tags && own.matches) {
          tags ??= new Set();
          for (const tag of rule.tags) tags.add(tag);
        }
      }
      const by = decisive === undefined ? undefined : compiled[decisive]?.rule;
      const because =
        by === undefined || decisive === undefined
          ? undecided
          : `Rule ${decisive + 1} (${by.pattern.join(", ")}) ${enabled ? "enables" : "disables"} it.`;
      return { enabled: enabled ?? !isAllowList, tags: tags ? [...tags] : [], because, rule: decisive };
    },
  };
}

function compileRule(rule: ToolRule, number: number, engine: RegexEngine | undefined): CompiledRule {
  const patterns = compilePatterns(rule, number, engine);
  const excluding = patterns.filter(({ negated }) => negated);
  const including = patterns.filter(({ negated }) => !negated);
  // Without a decision and tags, a list of exclusions would do nothing at all, and what it names would stay enabled.
  const isBareExclusion = including.length === 0 && rule.enabled === undefined && !rule.tags?.length;
  const match: Effect = { enabled: rule.enabled, matches: true };
  const exclusion: Effect = { enabled: false, matches: false };
  const fits = (all: readonly Pattern[], server: string, tool: string): boolean => {
    for (const { matches, withServer } of all)
      if (matches(withServer ? `${server}:${tool}` : tool)) return true;
    return false;
  };
  return {
    rule,
    patterns,
    effect(server, tool) {
      if (rule.server !== undefined && rule.server !== server) return undefined;
      if (isBareExclusion) return fits(excluding, server, tool) ? exclusion : match;
      if (including.length > 0 && !fits(including, server, tool)) return undefined;
      return fits(excluding, server, tool) ? undefined : match;
    },
  };
}

function compilePatterns(rule: ToolRule, number: number, engine: RegexEngine | undefined): Pattern[] {
  const patterns: Pattern[] = [];
  for (const source of rule.pattern) {
    try {
      patterns.push(compilePatternWith(source, engine));
    } catch (thrown) {
      if (!(thrown instanceof SyntaxError)) throw thrown;
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "rules" has a wrong option: the pattern "${source}" of rule ${number} cannot be used: ${thrown.message}.`,
        { cause: thrown, data: { plugin: "rules", rule: number, pattern: source } },
      );
    }
  }
  return patterns;
}
