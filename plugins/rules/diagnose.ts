import { nearest } from "../../core/mod.ts";
import type { RuleFault, RuleReport } from "../../core/services/rules.ts";
import type { KnownTool, KnownTools } from "./known-tools.ts";
import type { CompiledRule, RuleSet, ToolRule } from "./rules.ts";
import { listMatches, suggestPattern, widenBoundaries } from "./suggest.ts";

const MOST_NAMES = 3;

/** Finds the rules that may not do what they were written for, each fault with what would work. */
export async function diagnoseRules(set: RuleSet, known: KnownTools): Promise<readonly RuleReport[]> {
  const reports: RuleReport[] = [];
  for (const [index, compiled] of set.rules.entries()) {
    const add = (fault: RuleFault, reason: string | undefined): boolean => {
      if (reason !== undefined) reports.push(createReport(compiled.rule, index, fault, reason));
      return reason !== undefined;
    };
    const scope = known.tools.filter(({ server }) => (compiled.rule.server ?? server) === server);
    add("no-effect", findNoEffect(compiled));
    const isBoundary = add("word-boundary", await findBoundary(compiled, scope, known, set));
    if (!isBoundary && add("unmatched", await findUnmatched(compiled, scope, known))) continue;
    add("shadowed", findShadowed(set, index, scope, known));
  }
  for (const { index, reason, server } of findEmptyServers(set, known)) {
    const { rule } = set.rules[index] as CompiledRule;
    // The pattern that misses the names is the cause, and already reported.
    const isCaused = reports.some(
      (report) => report.rule === index + 1 && report.fault === "word-boundary" && rule.server === server,
    );
    if (!isCaused) reports.push(createReport(rule, index, "empty-server", reason));
  }
  return reports.toSorted((a, b) => a.rule - b.rule);
}

function createReport(rule: ToolRule, index: number, fault: RuleFault, reason: string): RuleReport {
  return { rule: index + 1, pattern: rule.pattern, server: rule.server, fault, reason };
}

function findNoEffect({ rule, patterns }: CompiledRule): string | undefined {
  if (rule.enabled !== undefined || rule.tags?.length || patterns.every(({ negated }) => negated))
    return undefined;
  return 'It has neither "enabled" nor "tags", so it changes nothing.';
}

/** Finds a `\b` that misses names, since `_` is a letter to regular expressions. */
async function findBoundary(
  { rule }: CompiledRule,
  scope: readonly KnownTool[],
  known: KnownTools,
  set: RuleSet,
): Promise<string | undefined> {
  for (const source of rule.pattern) {
    const wide = widenBoundaries(source);
    if (wide === undefined) continue;
    const matched = new Set(await listMatches(source, scope));
    const missed = (await listMatches(wide, scope)).filter((tool) => !matched.has(tool));
    if (missed.length === 0 && !isOpen(rule, known)) continue;
    const names = missed.length > 0 ? `: it misses ${joinIds(missed)}` : " such as read_file";
    const emptied = known.servers.filter(
      (server) => missed.some((tool) => tool.server === server) && isEmptied(set, known, server),
    );
    const effect = emptied.map((server) => ` No tool of "${server}" is enabled.`).join("");
    return `Its pattern ${source} needs a word boundary, and "_" is none in names${names}.${effect} Write ${wide}`;
  }
}

/** Whether a rule may match tools that are not known yet. */
function isOpen({ server }: ToolRule, { unknown }: KnownTools): boolean {
  return server === undefined ? unknown.size > 0 : unknown.has(server);
}

async function findUnmatched(
  compiled: CompiledRule,
  scope: readonly KnownTool[],
  known: KnownTools,
): Promise<string | undefined> {
  const { rule } = compiled;
  if (isOpen(rule, known)) return undefined;
  if (scope.some(({ server, name }) => affects(compiled, server, name))) return undefined;
  const { server } = rule;
  if (server !== undefined && scope.length === 0) {
    if (known.servers.includes(server)) return `The server "${server}" has no tools.`;
    const hint = nearest(server, known.servers);
    return `There is no server "${server}"${hint ? `; did you mean "${hint}"?` : "."}`;
  }
  for (const source of rule.pattern) {
    const better = await suggestPattern(source, scope);
    if (better !== undefined) return `It matches no tool. Write "${better}" instead of "${source}"?`;
  }
  return "It matches no tool.";
}

/** Whether a rule does something about a tool; exclusions alone have to exclude one. */
function affects(compiled: CompiledRule, server: string, tool: string): boolean {
  const effect = compiled.effect(server, tool);
  if (!compiled.patterns.every(({ negated }) => negated)) return effect !== undefined;
  return compiled.rule.enabled === undefined && !compiled.rule.tags?.length
    ? effect?.enabled === false
    : effect === undefined;
}

/** Finds tools about which an earlier rule decides otherwise: all of a rule, or destructive ones of a rule that disables. */
function findShadowed(
  set: RuleSet,
  index: number,
  scope: readonly KnownTool[],
  known: KnownTools,
): string | undefined {
  const compiled = set.rules[index] as CompiledRule;
  const decided = scope.flatMap((tool) => {
    const enabled = compiled.effect(tool.server, tool.name)?.enabled;
    return enabled === undefined ? [] : [{ tool, enabled, verdict: set.decide(tool.server, tool.name) }];
  });
  const opposed = decided.filter(({ enabled, verdict }) => enabled !== verdict.enabled);
  const isWhole = decided.length > 0 && opposed.length === decided.length;
  const reported = isWhole
    ? opposed
    : opposed.filter(({ enabled, tool }) => !enabled && known.isDestructive(tool));
  const [first] = reported;
  const other = first ? first.verdict.rule : findCover(set, index);
  if (other === undefined || (!first && (decided.length > 0 || !isOpen(compiled.rule, known))))
    return undefined;
  const enables = set.rules[other]?.rule.enabled === true;
  const which = first ? joinIds(reported.map(({ tool }) => tool)) : "all tools";
  const fix = enables
    ? `Put it before rule ${other + 1}, add ${exclude(compiled.rule)} to rule ${other + 1}, or write "toolRules": { "conflict": "deny-wins", "rules": […] }.`
    : `Put it before rule ${other + 1}, or leave it out.`;
  return `Rule ${other + 1} comes first and ${enables ? "enables" : "disables"} ${which}. ${fix}`;
}

/** Finds an earlier rule that decides otherwise about every tool, whatever the tools are. */
function findCover({ rules, conflict }: RuleSet, index: number): number | undefined {
  const own = rules[index]?.rule;
  if (own?.enabled === undefined || (conflict === "deny-wins" && !own.enabled)) return undefined;
  const found = rules
    .slice(0, index)
    .findIndex(
      ({ rule }) =>
        rule.enabled !== undefined &&
        (rule.server ?? own.server) === own.server &&
        rule.pattern.includes("*") &&
        !rule.pattern.some((pattern) => pattern.startsWith("!")),
    );
  return found === -1 || rules[found]?.rule.enabled === own.enabled ? undefined : found;
}

function exclude({ pattern }: ToolRule): string {
  return pattern
    .filter((source) => !source.startsWith("!"))
    .map((source) => `"!${source}"`)
    .join(", ");
}

function* findEmptyServers(
  set: RuleSet,
  known: KnownTools,
): Generator<{ readonly index: number; readonly reason: string; readonly server: string }> {
  for (const server of known.servers) {
    if (!isEmptied(set, known, server)) continue;
    const own = known.tools.filter((tool) => tool.server === server);
    const decisive = own.flatMap(({ name }) => set.decide(server, name).rule ?? []);
    const count = own.length === 1 ? "its only tool is" : `all of its ${own.length} tools are`;
    // A tool that no rule decides about is disabled because another rule enables tools: that is the cause then.
    if (decisive.length === own.length) {
      const index = findMostFrequent(decisive);
      yield {
        index,
        server,
        reason: `It leaves "${server}" without an enabled tool: ${count} disabled.`,
      };
      continue;
    }
    const enabling = set.rules.findLastIndex(({ rule }) => rule.enabled === true && rule.server === server);
    const index = enabling === -1 ? set.rules.findIndex(({ rule }) => rule.enabled === true) : enabling;
    const fix = `{ "server": ${JSON.stringify(server)}, "pattern": ["*"], "enabled": true }`;
    yield {
      index,
      server,
      reason: `It enables tools, so all others are disabled, and no rule enables one of "${server}" (${own.length} there). To enable them, add ${fix}.`,
    };
  }
}

function isEmptied(set: RuleSet, { tools }: KnownTools, server: string): boolean {
  const own = tools.filter((tool) => tool.server === server);
  return own.length > 0 && own.every(({ name }) => !set.decide(server, name).enabled);
}

function findMostFrequent(values: readonly number[]): number {
  const count = (value: number): number => values.filter((other) => other === value).length;
  return values.reduce((best, value) => (count(value) > count(best) ? value : best));
}

function joinIds(tools: readonly KnownTool[]): string {
  const shown = tools.slice(0, MOST_NAMES).map(({ server, name }) => `${server}:${name}`);
  const more = tools.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
