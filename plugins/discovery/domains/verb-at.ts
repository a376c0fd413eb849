import { joiningWords, plainVerbs, possibleVerbs } from "./verbs.ts";

/** Verbs that are never the object at the end of a name, as `list` is in `create_list`. */
const closing: ReadonlySet<string> = new Set(["get", "create", "update", "delete"]);

/** Returns the index of the verb that says what a tool does; -1 if there is none. */
export function findPlainVerb(words: readonly string[]): number {
  // Where objects are named first (`search_index_get`), what comes before the verb may look like one.
  const isLast = closing.has(words.at(-1) ?? "") && !words.some((word) => joiningWords.has(word));
  return isLast ? words.length - 1 : words.findIndex((word) => plainVerbs.has(word));
}

/** The verbs that a name has from there on: one, or several that are joined. */
export function joinedVerbs(words: readonly string[], at: number): readonly string[] {
  const verbs = words.slice(at, at + 1);
  for (let next = at + 1; joiningWords.has(words[next] ?? "") && next + 1 < words.length; next += 2) {
    verbs.push(words[next + 1] as string);
  }
  return verbs;
}

/** Splits a name into the words before and after its verbs. */
export function aroundVerbs(words: readonly string[]): {
  before: readonly string[];
  after: readonly string[];
} {
  const plain = findPlainVerb(words);
  const at = plain === -1 ? words.findIndex((word) => possibleVerbs.has(word)) : plain;
  if (at === -1) return { before: words, after: [] };
  const { length } = joinedVerbs(words, at);
  return { before: words.slice(0, at), after: words.slice(at + length * 2 - 1) };
}
