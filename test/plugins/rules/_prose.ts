import type { ToolRule } from "../../../plugins/rules/mod.ts";

/** A glob by the book: try everything. Slow, and easy to see through. */
export function slowGlob(pattern: string, text: string): boolean {
  const tokens = pattern.match(/\[(?:[!^].|(?![!^]).)[^\]]*\]|./gsu) ?? [];
  return matchTokens(tokens, [...text]);
}

function matchTokens(tokens: readonly string[], text: readonly string[]): boolean {
  const [token, ...tokensLeft] = tokens;
  const [character, ...textLeft] = text;
  if (token === undefined) return character === undefined;
  if (token === "*")
    return matchTokens(tokensLeft, text) || (character !== undefined && matchTokens(tokens, textLeft));
  if (character === undefined) return false;
  return matchOne(token, character) && matchTokens(tokensLeft, textLeft);
}

function matchOne(token: string, character: string): boolean {
  if (token === "?") return true;
  if ([...token].length === 1) return token === character;
  const negated = /^\[[!^]/.test(token);
  const members = token.slice(negated ? 2 : 1, -1).match(/.-.|./gsu) ?? [];
  const isMember = members.some((member) => {
    const [from = "", , to = from] = [...member];
    return toCodePoint(from) <= toCodePoint(character) && toCodePoint(character) <= toCodePoint(to);
  });
  return isMember !== negated;
}

function toCodePoint(character: string): number {
  return character.codePointAt(0) ?? -1;
}

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
