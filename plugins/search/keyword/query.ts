import { forEachWord, stopWords, termOf } from "../text.ts";
import type { KeywordParameters } from "./options.ts";
import { synonymsOf } from "./synonyms.ts";
import type { Terms } from "./terms.ts";

/** A pasted page is no query: what is asked comes first. */
const MAX_CHARACTERS = 8_000;
const MAX_CONCEPTS = 64;
/** What two neighbouring words of the query are worth where a tool writes them as one: `file system`. */
const JOINED = 0.7;

/** A word of the query with all that may stand for it. */
export interface Concept {
  /** The word as it was asked for. */
  readonly word: string;
  /** What finding it is worth: the rarer it is, the more. */
  readonly idf: number;
  /** The word itself first. None where no tool has any of them. */
  readonly members: readonly Member[];
}

/** A term that stands for a word of the query. */
export interface Member {
  readonly term: number;
  readonly weight: number;
}

/** A query as an index understands it. */
export interface KeywordQuery {
  readonly concepts: readonly Concept[];
  /** What it would be worth to find all of its words; never 0. */
  readonly idf: number;
  /** What the words of no tool can add up to more than; never 0. */
  readonly most: number;
}

/** Reads a query for an index of so many tools. Words that say nothing count only where there are no others. */
export function readQuery(
  text: string,
  terms: Terms,
  countOf: (term: number) => number,
  size: number,
  { synonyms }: KeywordParameters,
): KeywordQuery {
  const { words, joined } = wordsIn(text);
  /** A term that a tool has, with what it is worth by its rarity. */
  const find = (term: string): Member | undefined => {
    const number = terms.find(term);
    const count = number === undefined ? 0 : countOf(number);
    return number === undefined || count === 0 ? undefined : { term: number, weight: idfOf(count, size) };
  };
  const concepts: Concept[] = [];
  for (const [term, word] of words) {
    const own = find(term);
    const idf = own?.weight ?? idfOf(0, size);
    const members = own ? [own] : [];
    for (const synonym of synonyms > 0 ? synonymsOf(term) : []) {
      const other = words.has(synonym) ? undefined : find(synonym);
      if (other) members.push({ term: other.term, weight: synonyms * Math.min(idf, other.weight) });
    }
    concepts.push({ word, idf, members });
  }
  for (const [term, word] of joined) {
    const own = words.has(term) ? undefined : find(term);
    if (own) concepts.push({ word, idf: 0, members: [{ term: own.term, weight: JOINED * own.weight }] });
  }
  // Of very many words the rarest are kept.
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

/** The terms of a query with the words they come from, and those of neighbours joined to one. */
function wordsIn(text: string): Record<"words" | "joined", ReadonlyMap<string, string>> {
  const words = new Map<string, string>();
  const fillers = new Map<string, string>();
  const joined = new Map<string, string>();
  let last = "";
  forEachWord(text.slice(0, MAX_CHARACTERS), (word) => {
    const isFiller = stopWords.has(word);
    const list = isFiller ? fillers : words;
    const term = termOf(word);
    if (!list.has(term)) list.set(term, word);
    if (last !== "" && !isFiller) joined.set(termOf(last + word), `${last} ${word}`);
    last = isFiller ? "" : word;
  });
  return { words: words.size > 0 ? words : fillers, joined };
}

function idfOf(count: number, size: number): number {
  return Math.log(1 + (size - count + 0.5) / (count + 0.5));
}
