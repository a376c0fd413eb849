import type { Tool } from "../../../core/mod.ts";
import { forEachSpan, forEachWord, type SpanVisitor, stem } from "../../lib/text/words.ts";
import { keywordFields } from "../options.ts";
import { fieldTexts } from "./fields.ts";
import type { Terms } from "./terms.ts";

/** Number of fields. */
export const FIELDS: number = keywordFields.length;
/** Bits before the term or tool of an entry, which has 22 bits of it, 3 of the field and 7 of the count. */
export const SHIFT = 10;
/** Maximal count of a word in a field. */
const MAX_COUNT = 127;
/** Name, server and title may consist of stop words alone: `now`, `do_it`. */
const LAST_NAME_FIELD = 2;

/** Tools of one server as numbers. */
export interface Segment {
  readonly tools: readonly Tool[];
  /** Start of the entries of each tool, and the end of the last. */
  readonly starts: Uint32Array;
  /** Term, field and count; entries of a tool with the same term are adjacent. */
  entries: Uint32Array;
  /** Number of words in each field of each tool. */
  readonly lengths: Uint16Array;
  /** By field: the number of words in all tools, then the number of tools that have any. */
  readonly totals: Uint32Array;
  /** The number of its first tool in the index. */
  first: number;
}

/** Reads the tools of one server. */
export function readSegment(tools: readonly Tool[], terms: Terms): Segment {
  const starts = new Uint32Array(tools.length + 1);
  const lengths = new Uint16Array(tools.length * FIELDS);
  const read = createReader(terms);
  let entries = new Uint32Array(tools.length * 64);
  let end = 0;
  for (let index = 0; index < tools.length; index++) {
    const words = read(tools[index] as Tool, lengths, index * FIELDS);
    if (end + words.length > entries.length) entries = larger(entries, (end + words.length) * 2);
    end = count(words.sort(), entries, end);
    starts[index + 1] = end;
  }
  return { tools, starts, entries: entries.slice(0, end), lengths, totals: sumLengths(lengths), first: 0 };
}

function sumLengths(lengths: Uint16Array): Uint32Array {
  const totals = new Uint32Array(2 * FIELDS);
  for (let at = 0; at < lengths.length; at++) {
    const length = lengths[at] as number;
    const field = at % FIELDS;
    totals[field] = (totals[field] as number) + length;
    if (length > 0) totals[FIELDS + field] = (totals[FIELDS + field] as number) + 1;
  }
  return totals;
}

/** Returns a function that reads a tool: term and field of each word, valid until the next call. */
function createReader(terms: Terms): (tool: Tool, lengths: Uint16Array, place: number) => Uint32Array {
  let words = new Uint32Array(1024);
  let size = 0;
  let field = 0;
  const keep = (term: number): void => {
    if (term < 0) return;
    if (size === words.length) words = larger(words, size * 2);
    words[size++] = (term << SHIFT) | (field << 7);
  };
  const visit = (word: string): void => keep(terms.add(word));
  const visitSpan: SpanVisitor = (from, start, end, hash) => keep(terms.addSpan(from, start, end, hash));
  const visitFiller = (word: string): void => keep(terms.addTerm(stem(word)));
  return (tool, lengths, place) => {
    const texts = fieldTexts(tool);
    size = 0;
    for (field = 0; field < FIELDS; field++) {
      const text = texts[field] as string;
      const before = size;
      forEachSpan(text, visit, visitSpan);
      if (size === before && field <= LAST_NAME_FIELD) forEachWord(text, visitFiller);
      lengths[place + field] = Math.min(size - before, 0xffff);
    }
    return words.subarray(0, size);
  };
}

function larger(from: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(length);
  to.set(from);
  return to;
}

/** Writes equal values once, with their count. */
function count(sorted: Uint32Array, entries: Uint32Array, from: number): number {
  let end = from;
  let at = 0;
  while (at < sorted.length) {
    const value = sorted[at] ?? 0;
    const begin = at++;
    while (at < sorted.length && sorted[at] === value) at++;
    entries[end++] = value | Math.min(at - begin, MAX_COUNT);
  }
  return end;
}

/** Renumbers the terms of a segment. */
export function renumber(segment: Segment, numberOf: (term: number) => number): void {
  const rest = (1 << SHIFT) - 1;
  // The entries may be a view of a loaded snapshot, which must not change.
  segment.entries = segment.entries.map((entry) => (numberOf(entry >>> SHIFT) << SHIFT) | (entry & rest));
}

/** Entries of tool, field and count, one term after the other. */
export interface Postings {
  /** Start of the entries of each term, and the end of the last. */
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** Inverts segments by counting: the tools of each term instead of the terms of each tool. */
export function toPostings(segments: Iterable<Segment>, termCount: number): Postings {
  const list = [...segments];
  const starts = new Uint32Array(termCount + 2);
  for (const { entries } of list) {
    for (let at = 0; at < entries.length; at++) {
      const place = ((entries[at] ?? 0) >>> SHIFT) + 2;
      starts[place] = (starts[place] ?? 0) + 1;
    }
  }
  for (let term = 2; term < starts.length; term++)
    starts[term] = (starts[term] ?? 0) + (starts[term - 1] ?? 0);
  // Each start is one place ahead: filling moves it to where the next term begins.
  const turned = new Uint32Array(starts.at(-1) ?? 0);
  const mask = (1 << SHIFT) - 1;
  for (const { tools, starts: from, entries, first } of list) {
    for (let tool = 0; tool < tools.length; tool++) {
      const slot = (first + tool) << SHIFT;
      for (let at = from[tool] ?? 0; at < (from[tool + 1] ?? 0); at++) {
        const entry = entries[at] ?? 0;
        const term = (entry >>> SHIFT) + 1;
        const place = starts[term] ?? 0;
        turned[place] = slot | (entry & mask);
        starts[term] = place + 1;
      }
    }
  }
  return { starts: starts.subarray(0, termCount + 1), entries: turned };
}

/** Counts the tools that have a term, on demand. Removed tools have no words in any field. */
export function createCounter(postings: readonly Postings[], lengths: Uint16Array): (term: number) => number {
  const counts = new Map<number, number>();
  return (term) => {
    const known = counts.get(term);
    if (known !== undefined) return known;
    let count = 0;
    let last = -1;
    for (const { starts, entries } of postings) {
      const end = starts[term + 1] ?? 0;
      for (let at = starts[term] ?? 0; at < end; at++) {
        const entry = entries[at] as number;
        const slot = entry >>> SHIFT;
        if (slot === last || lengths[slot * FIELDS + ((entry >>> 7) & 7)] === 0) continue;
        last = slot;
        count++;
      }
    }
    counts.set(term, count);
    return count;
  };
}
