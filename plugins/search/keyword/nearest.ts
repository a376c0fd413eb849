import { nearest } from "../../../core/nearest.ts";
import { forEachWord, stopWords, termOf } from "../text.ts";
import type { Terms } from "./terms.ts";

const MAX_WORDS = 8;
const MAX_CHARACTERS = 500;
/** Of shorter words, too many are written alike. */
const SHORTEST = 4;

/** The query in words that tools have: each that none has becomes the one that is written most alike, if one is. */
export function nearestWords(query: string, terms: Terms, countOf: (term: number) => number): string {
  const words = new Set<string>();
  forEachWord(query.slice(0, MAX_CHARACTERS), (word) => {
    if (!stopWords.has(word) && word.length >= SHORTEST && words.size < MAX_WORDS) words.add(termOf(word));
  });
  const found: string[] = [];
  for (const word of words) {
    const alike: string[] = [];
    for (let term = 0; term < terms.size; term++) {
      const text = terms.text(term);
      // Whoever mistypes a word seldom mistypes its first letter.
      if (text[0] === word[0] && Math.abs(text.length - word.length) <= 2 && countOf(term) > 0)
        alike.push(text);
    }
    // By the letter and not by chance of when a tool came.
    const best = nearest(word, alike.sort());
    if (best !== undefined) found.push(best);
  }
  return found.join(" ");
}
