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
