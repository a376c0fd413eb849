import { spanText, stopWords, termOf } from "../text.ts";

/** Words are remembered with their terms; a stream of ever new words must not fill the memory. */
const MAX_WORDS = 300_000;
const FILLER = -1;
/** What an entry has room for. */
const MAX_TERMS = 2 ** 22;

/** The words of an index: each term has a number. */
export interface Terms {
  readonly size: number;
  /** The number of a word's term, which is new if need be; negative for a word that says nothing. */
  add(word: string): number;
  /** The same for a word that is not cut out, by its hash. */
  addSpan(from: Uint8Array, start: number, end: number, hash: number): number;
  /** The number of a term, which is new if need be. */
  addTerm(term: string): number;
  /** The number of a term, if a tool ever had it. */
  find(term: string): number | undefined;
  text(term: number): string;
}

/** Makes an empty dictionary. */
export function createTerms(): Terms {
  const numbers = new Map<string, number>();
  const texts: string[] = [];
  const ofWord = new Map<string, number>();
  const spans = createSpans();

  const addTerm = (term: string): number => {
    const known = numbers.get(term);
    if (known !== undefined) return known;
    const number = texts.length;
    if (number >= MAX_TERMS) return FILLER;
    numbers.set(term, number);
    texts.push(term);
    return number;
  };
  const add = (word: string): number => {
    const known = ofWord.get(word);
    if (known !== undefined) return known;
    if (ofWord.size >= MAX_WORDS) ofWord.clear();
    const number = stopWords.has(word) ? FILLER : addTerm(termOf(word));
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
      const word = spanText(from, start, end);
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

/** Numbers by words of ASCII letters and digits. A map would have each word cut out and hashed again. */
function createSpans(): Spans {
  let size = 0;
  /** By the hash of a word, or after it: one more than its place in the lists. */
  let table = new Int32Array(8192);
  let hashes = new Int32Array(4096);
  let numbers = new Int32Array(4096);
  /** Where each word begins in all their letters, and where the last one ends. */
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
