import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import type { RuleReport } from "../../core/services/rules.ts";
import { option } from "../lib/options.ts";
import { compilePattern, type Pattern } from "./pattern.ts";

const nonEmpty = v.pipe(v.string(), v.minLength(1, "a string that is not empty"));

/** Schema of a rule, which decides about the tools whose name its patterns match. */
export const toolRule = v.strictObject({
  pattern: v.pipe(
    v.array(nonEmpty),
    v.minLength(1, "at least one pattern"),
    v.description(
      "Patterns for the name of a tool, without its server. The first that matches decides; one with `!` before it decides that the rule does not apply.",
    ),
    v.readonly(),
  ),
  server: option(nonEmpty, "Only the tools of this server."),
  enabled: option(
    v.boolean(),
    "Whether the tools may be used. Of several rules with this field, the first counts.",
  ),
  tags: option(
    v.pipe(v.array(nonEmpty), v.readonly()),
    "Tags for the tools, in addition to those of other rules.",
  ),
});

/** Decides about the tools whose name its patterns match. */
export type ToolRule = v.InferOutput<typeof toolRule>;

/** The decision of the rules about one tool. */
export interface Verdict {
  readonly enabled: boolean;
  /** Tags of all rules that match, each once, in the order of the rules. */
  readonly tags: readonly string[];
  /** The reason, in a sentence. */
  readonly because: string;
}

/** Compiled rules. */
interface RuleSet {
  decide(server: string, tool: string): Verdict;
  /** The rules that match a tool, by their place in the list, from 1. */
  matching(server: string, tool: string): readonly number[];
  /** Rules that are doubtful whatever the tools are. */
  readonly doubts: readonly RuleReport[];
}

interface CompiledRule {
  readonly rule: ToolRule;
  readonly patterns: readonly Pattern[];
  readonly because: string;
}

/** Compiles rules. Throws `PLUGIN_INVALID`, naming rule and pattern, if one cannot be used. */
export async function compileRules(rules: readonly ToolRule[]): Promise<RuleSet> {
  const compiled: CompiledRule[] = [];
  for (const [index, rule] of rules.entries()) {
    const patterns = await compilePatterns(rule, index + 1);
    const verb = rule.enabled ? "enables" : "disables";
    compiled.push({ rule, patterns, because: `Rule ${index + 1} (${rule.pattern.join(", ")}) ${verb} it.` });
  }
  const isAllowList = rules.some((rule) => rule.enabled === true);
  const undecided = isAllowList
    ? "No rule enables it, and where there is a rule that enables tools, all others are disabled."
    : "No rule disables it.";

  return {
    decide(server, tool) {
      let enabled: boolean | undefined;
      let because = undecided;
      let tags: Set<string> | undefined;
      for (const candidate of compiled) {
        const { rule } = candidate;
        // The rule can change nothing any more.
        if (!rule.tags && (enabled !== undefined || rule.enabled === undefined)) continue;
        if (!applies(candidate, server, tool)) continue;
        if (rule.enabled !== undefined && enabled === undefined) {
          enabled = rule.enabled;
          because = candidate.because;
        }
        if (rule.tags) {
          tags ??= new Set();
          for (const tag of rule.tags) tags.add(tag);
        }
      }
      return { enabled: enabled ?? !isAllowList, tags: tags ? [...tags] : [], because };
    },
    matching: (server, tool) =>
      compiled.flatMap((candidate, index) => (applies(candidate, server, tool) ? [index + 1] : [])),
    doubts: compiled.flatMap(({ rule, patterns }, index) =>
      findDoubts(rule, patterns).map((reason) => createRuleReport(rule, index + 1, reason)),
    ),
  };
}

/** Creates a report about a rule that may not do what it was written for. */
export function createRuleReport({ pattern, server }: ToolRule, rule: number, reason: string): RuleReport {
  return { rule, pattern, server, reason };
}

async function compilePatterns(rule: ToolRule, number: number): Promise<Pattern[]> {
  const patterns: Pattern[] = [];
  for (const source of rule.pattern) {
    try {
      patterns.push(await compilePattern(source));
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

function applies({ rule, patterns }: CompiledRule, server: string, tool: string): boolean {
  if (rule.server !== undefined && rule.server !== server) return false;
  for (const pattern of patterns) if (pattern.matches(tool)) return !pattern.negated;
  return false;
}

function findDoubts(rule: ToolRule, patterns: readonly Pattern[]): string[] {
  const doubts: string[] = [];
  const lastPositive = patterns.findLastIndex((pattern) => !pattern.negated);
  if (lastPositive === -1) {
    doubts.push('It has only patterns with "!", which leave tools out, so it matches none.');
  } else {
    for (const { source } of patterns.slice(lastPositive + 1)) {
      doubts.push(`Its pattern "${source}" leaves nothing out, because the patterns before it decide first.`);
    }
  }
  if (rule.enabled === undefined && !rule.tags?.length) {
    doubts.push('It has neither "enabled" nor "tags", so it changes nothing.');
  }
  return doubts;
}
