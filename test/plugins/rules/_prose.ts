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
  // Server-specific rules are for that server only; patterns are processed in order.
  const matching = rules.filter((rule) => {
    if (rule.server !== undefined && rule.server !== server) return false;
    const first = rule.pattern.find((pattern) => matchesSingle(pattern.replace(/^!/, ""), tool));
    return first !== undefined && !first.startsWith("!");
  });
  // The first match determines enabled or disabled.
  const decisive = matching.find((rule) => rule.enabled !== undefined);
  // If any rule has `enabled: true`, the default is disabled.
  const isAllowList = rules.some((rule) => rule.enabled === true);
  // Tags accumulate from all matching rules, and are deduplicated.
  const tags = matching
    .flatMap((rule) => rule.tags ?? [])
    .filter((tag, index, all) => all.indexOf(tag) === index);
  return { enabled: decisive?.enabled ?? !isAllowList, tags };
}

function matchesSingle(pattern: string, tool: string): boolean {
  const [, body, flags] = /^\/(.+)\/([a-z]*)$/.exec(pattern) ?? [];
  return body === undefined ? slowGlob(pattern, tool) : new RegExp(body, flags).test(tool);
}
