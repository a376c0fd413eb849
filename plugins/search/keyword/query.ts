import { nearest } from "../../../core/nearest.ts";
import { forEachWord, stem, stopWords } from "../../lib/text/words.ts";
import type { KeywordParameters } from "../options.ts";
import { findSynonyms } from "./synonyms.ts";
import type { Terms } from "./terms.ts";

/** A query is read up to here: in a pasted page the request comes first. */
const MAX_CHARACTERS = 8_000;
const MAX_CONCEPTS = 64;
/** Weight of two adjacent words of the query where a tool writes them as one: `file system`. */
const JOINED = 0.7;

/** Word of the query with its synonyms. */
interface Concept {
  /** The word as it is in the query. */
  readonly word: string;
  /** Inverse document frequency: the rarer, the more. */
  readonly idf: number;
  /** The word itself first. Empty if no tool has any of them. */
  readonly members: readonly Member[];
}

/** Term of a concept. */
interface Member {
  readonly term: number;
  readonly weight: number;
}

/** Query in the terms of an index. */
export interface KeywordQuery {
  readonly concepts: readonly Concept[];
  /** Sum over all words; never 0. */
  readonly idf: number;
  /** Upper bound of the sum for any tool; never 0. */
  readonly most: number;
}

/** Reads a query for an index of `size` tools. Stop words count only if there are no others. */
export function readQuery(
  text: string,
  terms: Terms,
  countOf: (term: number) => number,
  size: number,
  { synonyms }: KeywordParameters,
): KeywordQuery {
  const { words, joined } = splitWords(text);
  /** Finds a term that some tool has, weighted by its rarity. */
  const find = (term: string): Member | undefined => {
    const number = terms.find(term);
    const count = number === undefined ? 0 : countOf(number);
    return number === undefined || count === 0
      ? undefined
      : { term: number, weight: inverseFrequency(count, size) };
  };
  const concepts: Concept[] = [];
  for (const [term, word] of words) {
    const own = find(term);
    const idf = own?.weight ?? inverseFrequency(0, size);
    const members = own ? [own] : [];
    for (const synonym of synonyms > 0 ? findSynonyms(term) : []) {
      const other = words.has(synonym) ? undefined : find(synonym);
      if (other) members.push({ term: other.term, weight: synonyms * Math.min(idf, other.weight) });
    }
    concepts.push({ word, idf, members });
  }
  for (const [term, word] of joined) {
    const own = words.has(term) ? undefined : find(term);
    if (own) concepts.push({ word, idf: 0, members: [{ term: own.term, weight: JOINED * own.weight }] });
  }
  // Of very many words, the rarest count.
  const kept =
    concepts.length <= MAX_CONCEPTS
      ? concepts
      : concepts.toSorted((a, b) => b.idf - a.idf || (a.word < b.word ? -1 : 1)).slice(0, MAX_CONCEPTS);
  return {
    concepts: kept,
    idf: kept.reduce((sum, { idf }) => sum + idf, 0) || 1,
    most:
      kept.reduce(
        (sum, { idf, members }) => sum + Math.max(idf, ...members.map(({ weight }) => weight)),
        0,
      ) || 1,
  };
}

/** Terms of a query with their words, and terms of adjacent words joined to one. */
function splitWords(text: string): Record<"words" | "joined", ReadonlyMap<string, string>> {
  const words = new Map<string, string>();
  const stops = new Map<string, string>();
  const joined = new Map<string, string>();
  let last = "";
  forEachWord(text.slice(0, MAX_CHARACTERS), (word) => {
    const isStop = stopWords.has(word);
    const list = isStop ? stops : words;
    const term = stem(word);
    if (!list.has(term)) list.set(term, word);
    if (last !== "" && !isStop) joined.set(stem(last + word), `${last} ${word}`);
    last = isStop ? "" : word;
  });
  return { words: words.size > 0 ? words : stops, joined };
}

function inverseFrequency(count: number, size: number): number {
  return Math.log(1 + (size - count + 0.5) / (count + 0.5));
}

const MAX_CORRECTED_WORDS = 8;
const MAX_CORRECTED_CHARACTERS = 500;
/** Shorter words have too many that are spelled alike. */
const MIN_CORRECTED_LENGTH = 4;

/** Replaces each word of a query by the known term that is spelled most alike; a word without one is dropped. */
export function correctWords(query: string, terms: Terms, countOf: (term: number) => number): string {
  const words = new Set<string>();
  forEachWord(query.slice(0, MAX_CORRECTED_CHARACTERS), (word) => {
    if (stopWords.has(word) || word.length < MIN_CORRECTED_LENGTH) return;
    if (words.size < MAX_CORRECTED_WORDS) words.add(stem(word));
  });
  const found: string[] = [];
  for (const word of words) {
    const alike: string[] = [];
    for (let term = 0; term < terms.size; term++) {
      const text = terms.text(term);
      // The first letter is seldom mistyped.
      if (text[0] === word[0] && Math.abs(text.length - word.length) <= 2 && countOf(term) > 0)
        alike.push(text);
    }
    // Sorted, so that the result does not depend on the order in which tools came.
    const best = nearest(word, alike.sort());
    if (best !== undefined) found.push(best);
  }
  return found.join(" ");
}
