import type { Tool } from "../../../core/mod.ts";
import { forEachSpan, forEachWord, type SpanVisitor, termOf } from "../text.ts";
import { keywordFields, textsOf } from "./fields.ts";
import type { Terms } from "./terms.ts";

/** How many fields there are. */
export const FIELDS: number = keywordFields.length;
/** An entry is a term or a tool, a field and a count in 32 bits: 22, 3 and 7 of them. */
export const SHIFT = 10;
/** More of one word in one field than this counts as this much. */
export const MAX_COUNT = 127;
/** Names and titles may be nothing but words that say nothing elsewhere: `now`, `do_it`. */
const LONGEST_NAME_FIELD = 2;

/** The tools of one server as numbers. */
export interface Segment {
  readonly tools: readonly Tool[];
  /** Where the entries of each tool begin, and where the last ones end. */
  readonly starts: Uint32Array;
  /** Term, field and count; those of a tool with the same term are neighbours. */
  entries: Uint32Array;
  /** Words in each field of each tool. */
  readonly lengths: Uint16Array;
  /** By field: the words in all tools, and then the tools that have any. */
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

/** Returns what reads a tool: term and field of each of its words, good until the next one is read. */
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
    const texts = textsOf(tool);
    size = 0;
    for (field = 0; field < FIELDS; field++) {
      const text = texts[field] as string;
      const before = size;
      forEachSpan(text, visit, visitSpan);
      if (size === before && field <= LONGEST_NAME_FIELD) forEachWord(text, visitFiller);
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

/** Writes equal ones once, with how many there were. */
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

/** Gives the terms of a segment other numbers. */
export function renumber(segment: Segment, numberOf: (term: number) => number): void {
  const rest = (1 << SHIFT) - 1;
  // They may be a view of what was loaded, which is not ours to change.
  segment.entries = segment.entries.map((entry) => (numberOf(entry >>> SHIFT) << SHIFT) | (entry & rest));
}
