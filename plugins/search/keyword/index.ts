import type { Tool } from "../../../core/mod.ts";
import type { Keeping } from "../keeping/keeping.ts";
import { createNames, type Names } from "./names.ts";
import { counter, type Postings, postingsOf } from "./postings.ts";
import { FIELDS, readSegment, renumber, type Segment, SHIFT } from "./segment.ts";
import { type Remembered, remember, writeSnapshot } from "./snapshot.ts";
import { createTerms, type Terms } from "./terms.ts";

/** Tools as numbers, for whoever scores them. */
export interface KeywordIndex extends Keeping {
  /** Takes in the tools of one server in place of those it had. */
  update(server: string, tools: readonly Tool[]): void;
  /** Grows with every change. */
  readonly revision: number;
  /** How many tools there are. */
  readonly size: number;
  /** Their words. Their numbers are good until the next change, once the index is in order. */
  readonly terms: Terms;
  readonly names: Names;
  /** Everything that is searched; what has changed is put in order first. */
  ready(): Ready;
  /** The tools of one server. */
  segment(server: string): Segment | undefined;
  /** Where a tool is: its server's tools, and its number among them. */
  place(tool: Tool): readonly [Segment, number] | undefined;
}

/** An index in order. */
export interface Ready {
  readonly postings: readonly Postings[];
  /** One more than the highest number of a tool. Some numbers may stand for tools that are gone. */
  readonly slots: number;
  /** The segments by the numbers of their tools, in rising order. */
  readonly segments: readonly Segment[];
  /** The words in each field of each tool by its number; none of a tool that is gone. */
  readonly lengths: Uint16Array;
  /** The mean number of words in each field, among tools that have it. */
  readonly meanLengths: readonly number[];
  /** How many tools have a term. */
  count(term: number): number;
}

/** When an index is put in order as a whole. */
export interface KeywordIndexOptions {
  /** What has changed is kept apart from the rest until it has so many entries, or a sixteenth of them. */
  readonly apart?: number;
  /** Terms of tools that are gone are dropped where there are so many, and more than of those that are there. */
  readonly deadTerms?: number;
}

/** Makes an empty index. */
export function createKeywordIndex({
  apart: leastApart = 20_000,
  deadTerms = 10_000,
}: KeywordIndexOptions = {}): KeywordIndex {
  const segments = new Map<string, Segment>();
  const names = createNames();
  const numbers = new WeakMap<Segment, Map<string, number>>();
  const totals = new Float64Array(2 * FIELDS);
  let terms = createTerms();
  let remembered: Remembered | undefined;
  let read = new WeakSet<Segment>();
  let fresh = 0;
  let size = 0;
  let revision = 0;
  let settled = new Set<Segment>();
  let main: Postings = { starts: new Uint32Array(1), entries: new Uint32Array(0) };
  let slots = 0;
  let ready: Ready | undefined;

  const account = (segment: Segment, change: 1 | -1): void => {
    size += change * segment.tools.length;
    for (let at = 0; at < totals.length; at++)
      totals[at] = (totals[at] as number) + change * (segment.totals[at] as number);
  };

  /** Forgets terms that no tool has any more, where they are most of all. */
  const dropTerms = (all: readonly Segment[]): void => {
    if (terms.size < deadTerms) return;
    const isAlive = new Uint8Array(terms.size);
    for (const { entries } of all)
      for (let at = 0; at < entries.length; at++) isAlive[(entries[at] as number) >>> SHIFT] = 1;
    const dead = isAlive.reduce((left, alive) => left - alive, terms.size);
    if (dead < deadTerms || dead * 2 < terms.size) return;
    const old = terms;
    terms = createTerms();
    const numbers = new Map<number, number>();
    const numberOf = (term: number): number => {
      const known = numbers.get(term) ?? terms.addTerm(old.text(term));
      numbers.set(term, known);
      return known;
    };
    for (const segment of all) renumber(segment, numberOf);
  };

  /** Puts all of it in order, so that nothing is apart and nothing is of tools that are gone. */
  const settle = (all: readonly Segment[]): void => {
    dropTerms(all);
    slots = number(all, 0);
    main = postingsOf(all, terms.size);
    settled = new Set(all);
  };
  const order = (): Ready => {
    const all = [...segments.values()];
    const isApart = (segment: Segment): boolean => !settled.has(segment);
    const settledSize = main.entries.length;
    const apartSize = sizeOf(all.filter(isApart));
    const gone = settledSize - (sizeOf(all) - apartSize);
    if (apartSize + gone > Math.max(leastApart, settledSize / 16)) settle(all);
    const apart = all.filter(isApart);
    const end = number(apart, slots);
    const postings = apart.length > 0 ? [main, postingsOf(apart, terms.size)] : [main];
    const lengths = new Uint16Array(end * FIELDS);
    for (const segment of all) lengths.set(segment.lengths, segment.first * FIELDS);
    return {
      postings,
      slots: end,
      segments: all.toSorted((a, b) => a.first - b.first),
      lengths,
      meanLengths: Array.from(
        { length: FIELDS },
        (_, field) => (totals[field] as number) / Math.max(1, totals[FIELDS + field] as number),
      ),
      count: counter(postings, lengths),
    };
  };

  return {
    update(server, tools) {
      const old = segments.get(server);
      if (old) {
        account(old, -1);
        names.remove(server, old.tools);
        segments.delete(server);
        if (read.has(old)) fresh -= old.tools.length;
      }
      if (tools.length > 0) {
        const known = remembered?.segment(server, tools, terms);
        const segment = known ?? readSegment(tools, terms);
        if (known && main === remembered?.postings) settled.add(segment);
        if (!known) {
          read.add(segment);
          fresh += tools.length;
        }
        account(segment, 1);
        names.add(server, tools);
        segments.set(server, segment);
      }
      revision++;
      ready = undefined;
    },
    get revision() {
      return revision;
    },
    get size() {
      return size;
    },
    get terms() {
      return terms;
    },
    names,
    ready() {
      ready ??= order();
      return ready;
    },
    segment: (server) => segments.get(server),
    place({ server, id }) {
      const segment = segments.get(server);
      if (!segment) return;
      let ids = numbers.get(segment);
      if (!ids) {
        ids = new Map(segment.tools.map((tool, place) => [tool.id, place]));
        numbers.set(segment, ids);
      }
      const place = ids.get(id);
      return place === undefined ? undefined : [segment, place];
    },
    get fresh() {
      return fresh;
    },
    save() {
      read = new WeakSet();
      fresh = 0;
      settle([...segments.values()]);
      ready = undefined;
      revision++;
      return writeSnapshot(segments, terms, main);
    },
    load(bytes) {
      const isFirst = segments.size === 0 && terms.size === 0;
      remembered = remember(bytes, terms);
      if (isFirst && remembered) {
        main = remembered.postings;
        slots = remembered.slots;
      }
      return remembered !== undefined;
    },
  };
}

function sizeOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { entries }) => sum + entries.length, 0);
}

/** Numbers the tools of segments from here on; returns where they end. */
function number(segments: readonly Segment[], from: number): number {
  let next = from;
  for (const segment of segments) {
    segment.first = next;
    next += segment.tools.length;
  }
  return next;
}
