import { FIELDS, type Segment, SHIFT } from "./segment.ts";

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
