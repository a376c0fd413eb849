import { GatewayError } from "../../core/mod.ts";
import type { RuleReport } from "../../core/services/rules.ts";
import { compilePattern, type Pattern } from "../lib/pattern.ts";

/** Decides about the tools whose name its patterns match. */
export interface ToolRule {
  /**
   * Tried in order, against the name of a tool: the first that matches decides, and one with `!` before it
   * decides that the rule does not apply. The server is no part of that name: `server` is there for it, and
   * `*github*` would otherwise mean every tool of a server that happens to be called so.
   */
  readonly pattern: readonly string[];
  /** Only the tools of this server. */
  readonly server?: string | undefined;
  /** Whether the tools may be used. Of several rules, the first that says so counts. */
  readonly enabled?: boolean | undefined;
  /** Added to the tools, whatever other rules add. */
  readonly tags?: readonly string[] | undefined;
}

/** What the rules say of one tool. */
export interface Verdict {
  readonly enabled: boolean;
  /** Of all rules that match, each once, in the order of the rules. */
  readonly tags: readonly string[];
  /** Why it is enabled or not, in a sentence. */
  readonly because: string;
}

/** Rules, ready to decide. */
export interface RuleSet {
  decide(server: string, tool: string): Verdict;
  /** The rules that match a tool, by their place in the list, from 1. */
  matching(server: string, tool: string): readonly number[];
  /** What can be seen from the rules alone, without any tool. */
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
        // Nothing it could say would still count.
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
      doubtsAbout(rule, patterns).map((reason) => reportOn(rule, index + 1, reason)),
    ),
  };
}

/** Names a rule that may not do what it was written for. */
export function reportOn({ pattern, server }: ToolRule, rule: number, reason: string): RuleReport {
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

function doubtsAbout(rule: ToolRule, patterns: readonly Pattern[]): string[] {
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
