/** Words that the rules would get wrong, and that tools are full of. */
const exceptions: ReadonlyMap<string, string> = new Map([
  ["news", "news"],
  ["ids", "id"],
  ["dbs", "db"],
  ["vms", "vm"],
  ["prs", "pr"],
  ["use", "use"],
  ["used", "use"],
  ["uses", "use"],
  ["using", "use"],
  ["embed", "embed"],
  ["embeds", "embed"],
  ["people", "person"],
  ["children", "child"],
  ["indices", "index"],
  ["matrices", "matrix"],
  ["vertices", "vertex"],
]);

/**
 * An English word in lower case without the endings of plural, past and progress: `files`, `filed` and `filing`
 * are one word then. Endings that make another kind of word stay, since that cost more than it gave: a
 * `generator` is not what `general` is about.
 */
export function stem(word: string): string {
  const known = exceptions.get(word);
  if (known !== undefined) return known;
  // Short ones are often names: dns, aws, sms.
  if (word.length < 4) return word;
  let rest = withoutTense(withoutPlural(word));
  if (rest.length < 3) return word;
  if (rest.length > 3 && rest.endsWith("y") && hasVowel(rest.slice(0, -1))) rest = `${rest.slice(0, -1)}i`;
  return rest.length > 3 && rest.endsWith("e") ? rest.slice(0, -1) : rest;
}

function withoutPlural(word: string): string {
  if (!word.endsWith("s") || /[siu]s$/.test(word)) return word;
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return word.slice(0, -1);
}

function withoutTense(word: string): string {
  if (word.endsWith("eed")) return hasVowel(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const ending = word.endsWith("ing") ? 3 : word.endsWith("ed") ? 2 : 0;
  const rest = word.slice(0, word.length - ending);
  if (ending === 0 || !hasVowel(rest)) return word;
  return rest.length > 3 && /([^aeiouylsz])\1$/.test(rest) ? rest.slice(0, -1) : rest;
}

function hasVowel(text: string): boolean {
  return /[aeiouy]/.test(text);
}
