import { decodeSpan, stem, stopWords } from "../../lib/text/words.ts";

/** Limit of the words that are cached with their terms. */
const MAX_WORDS = 300_000;
const STOP_WORD = -1;
/** Limit of the bits in an entry. */
const MAX_TERMS = 2 ** 22;

/** Dictionary of an index: each term has a number. */
export interface Terms {
  readonly size: number;
  /** Adds the term of a word and returns its number; negative for a stop word. */
  add(word: string): number;
  /** Adds a word given as bytes and hash, as `forEachSpan` finds it. */
  addSpan(from: Uint8Array, start: number, end: number, hash: number): number;
  /** Adds a term and returns its number. */
  addTerm(term: string): number;
  /** Finds the number of a known term. */
  find(term: string): number | undefined;
  text(term: number): string;
}

/** Creates an empty dictionary. */
export function createTerms(): Terms {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  const ofWord = new Map<string, number>();
  const spans = createSpans();

  const addTerm = (term: string): number => {
    const known = numbers.get(term);
    if (known !== undefined) return known;
    const number = texts.length;
    if (number >= MAX_TERMS) return STOP_WORD;
    numbers.set(term, number);
    texts.push(term);
    return number;
  };
  const add = (word: string): number => {
    const known = ofWord.get(word);
    if (known !== undefined) return known;
    if (ofWord.size >= MAX_WORDS) ofWord.clear();
    const number = stopWords.has(word) ? STOP_WORD : addTerm(stem(word));
    ofWord.set(word, number);
    return number;
  };
  return {
    get size() {
      return texts.length;
    },
    add,
    addSpan(from, start, end, hash) {
      const known = spans.find(from, start, end, hash);
      if (known !== undefined) return known;
      const word = decodeSpan(from, start, end);
      const number = add(word);
      spans.set(word, hash, number);
      return number;
    },
    addTerm,
    find: (term) => numbers.get(term),
    text: (term) => texts[term] ?? "",
  };
}

interface Spans {
  find(from: Uint8Array, start: number, end: number, hash: number): number | undefined;
  set(word: string, hash: number, number: number): void;
}

/** Hash table of words of ASCII letters and digits. A map would need each word as a string, hashed again. */
function createSpans(): Spans {
  let size = 0;
  /** Open addressing by the hash of a word: one more than its place in the lists. */
  let table = new Int32Array(8192);
  let hashes = new Int32Array(4096);
  let numbers = new Int32Array(4096);
  /** Start of each word in `letters`, and the end of the last. */
  let starts = new Uint32Array(4097);
  let letters = new Uint8Array(32_768);

  const insert = (place: number): void => {
    const mask = table.length - 1;
    let at = (hashes[place] as number) & mask;
    while (table[at] !== 0) at = (at + 1) & mask;
    table[at] = place + 1;
  };
  const isSame = (place: number, from: Uint8Array, start: number, end: number): boolean => {
    const first = starts[place] as number;
    if ((starts[place + 1] as number) - first !== end - start) return false;
    for (let at = start; at < end; at++)
      if (letters[first + at - start] !== ((from[at] as number) | 32)) return false;
    return true;
  };
  return {
    find(from, start, end, hash) {
      const mask = table.length - 1;
      for (let at = hash & mask; ; at = (at + 1) & mask) {
        const place = (table[at] as number) - 1;
        if (place < 0) return;
        if (hashes[place] === hash && isSame(place, from, start, end)) return numbers[place];
      }
    },
    set(word, hash, number) {
      if (size >= MAX_WORDS) {
        size = 0;
        table.fill(0);
      }
      if (size === hashes.length) {
        hashes = grown(hashes, new Int32Array(size * 2));
        numbers = grown(numbers, new Int32Array(size * 2));
        starts = grown(starts, new Uint32Array(size * 2 + 1));
        table = new Int32Array(size * 4);
        for (let place = 0; place < size; place++) insert(place);
      }
      const start = starts[size] as number;
      if (start + word.length > letters.length) letters = grown(letters, new Uint8Array(letters.length * 2));
      for (let at = 0; at < word.length; at++) letters[start + at] = word.charCodeAt(at);
      starts[size + 1] = start + word.length;
      hashes[size] = hash;
      numbers[size] = number;
      insert(size++);
    },
  };
}

function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}
