import type { Tool } from "../../../core/mod.ts";
import { forEachSpan, forEachWord, type SpanVisitor, termOf } from "../../lib/text/text.ts";
import { keywordFields } from "../options.ts";
import { fieldTexts } from "./fields.ts";
import type { Terms } from "./terms.ts";

/** Number of fields. */
export const FIELDS: number = keywordFields.length;
/** Bits before the term or tool of an entry, which has 22 bits of it, 3 of the field and 7 of the count. */
export const SHIFT = 10;
/** Maximal count of a word in a field. */
export const MAX_COUNT = 127;
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
  return { tools, starts, entries: entries.slice(0, end), lengths, totals: totalsOf(lengths), first: 0 };
}

function totalsOf(lengths: Uint16Array): Uint32Array {
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
  const visitFiller = (word: string): void => keep(terms.addTerm(termOf(word)));
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
