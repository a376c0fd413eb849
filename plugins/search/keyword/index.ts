import type { Tool } from "../../../core/mod.ts";
import type { IndexSnapshot } from "../../../core/services/search.ts";
import { createNameIndex, type NameIndex } from "../../lib/tool-index.ts";
import {
  createCounter,
  FIELDS,
  type Postings,
  readSegment,
  renumber,
  type Segment,
  SHIFT,
  toPostings,
} from "./segment.ts";
import { type KeywordSnapshot, readSnapshot, writeSnapshot } from "./snapshot.ts";
import { createTerms, type Terms } from "./terms.ts";

/** Inverted index of tools. */
export interface KeywordIndex extends IndexSnapshot {
  /** Replaces the tools of one server. */
  update(server: string, tools: readonly Tool[]): void;
  /** Grows with every change. */
  readonly revision: number;
  /** Number of tools. */
  readonly size: number;
  /** The terms of the tools. Their numbers are valid from `ready` until the next change. */
  readonly terms: Terms;
  readonly names: NameIndex;
  /** Puts changes in order and returns what is searched. */
  ready(): ReadyIndex;
  /** The tools of one server. */
  segment(server: string): Segment | undefined;
  /** Finds a tool: the segment of its server, and its number in it. */
  place(tool: Tool): readonly [Segment, number] | undefined;
}

/** Index in order. */
export interface ReadyIndex {
  readonly postings: readonly Postings[];
  /** One more than the highest number of a tool. Some numbers may be of removed tools. */
  readonly slots: number;
  /** The segments by the numbers of their tools, in rising order. */
  readonly segments: readonly Segment[];
  /** Number of words in each field of each tool; 0 for a removed tool. */
  readonly lengths: Uint16Array;
  /** The mean number of words in each field, among tools that have it. */
  readonly meanLengths: readonly number[];
  /** Number of tools that have a term. */
  count(term: number): number;
}

/** Creates an empty index. */
export function createKeywordIndex({
  apart: leastApart = 20_000,
  deadTerms = 10_000,
}: {
  /** Changes are kept apart until they have so many entries, or a sixteenth of all. */
  readonly apart?: number;
  /** Terms of removed tools are dropped if there are so many, and more than of present tools. */
  readonly deadTerms?: number;
} = {}): KeywordIndex {
  const segments = new Map<string, Segment>();
  const names = createNameIndex();
  const numbers = new WeakMap<Segment, Map<string, number>>();
  const totals = new Float64Array(2 * FIELDS);
  let terms = createTerms();
  let loaded: KeywordSnapshot | undefined;
  let read = new WeakSet<Segment>();
  let fresh = 0;
  let size = 0;
  let revision = 0;
  let settled = new Set<Segment>();
  let main: Postings = { starts: new Uint32Array(1), entries: new Uint32Array(0) };
  let slots = 0;
  let ready: ReadyIndex | undefined;

  const account = (segment: Segment, change: 1 | -1): void => {
    size += change * segment.tools.length;
    for (let at = 0; at < totals.length; at++)
      totals[at] = (totals[at] as number) + change * (segment.totals[at] as number);
  };

  /** Drops terms that no tool has any more, if they are more than half. */
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
    const mapTerm = (term: number): number => {
      const known = numbers.get(term) ?? terms.addTerm(old.text(term));
      numbers.set(term, known);
      return known;
    };
    for (const segment of all) renumber(segment, mapTerm);
  };

  /** Puts the whole index in order, without separate changes and removed tools. */
  const settle = (all: readonly Segment[]): void => {
    dropTerms(all);
    slots = number(all, 0);
    main = toPostings(all, terms.size);
    settled = new Set(all);
  };
  const order = (): ReadyIndex => {
    const all = [...segments.values()];
    const isApart = (segment: Segment): boolean => !settled.has(segment);
    const settledSize = main.entries.length;
    const apartSize = countSlots(all.filter(isApart));
    const gone = settledSize - (countSlots(all) - apartSize);
    if (apartSize + gone > Math.max(leastApart, settledSize / 16)) settle(all);
    const apart = all.filter(isApart);
    const end = number(apart, slots);
    const postings = apart.length > 0 ? [main, toPostings(apart, terms.size)] : [main];
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
      count: createCounter(postings, lengths),
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
        const known = loaded?.segment(server, tools, terms);
        const segment = known ?? readSegment(tools, terms);
        if (known && main === loaded?.postings) settled.add(segment);
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
      loaded = readSnapshot(bytes, terms);
      if (isFirst && loaded) {
        main = loaded.postings;
        slots = loaded.slots;
      }
      return loaded !== undefined;
    },
  };
}

function countSlots(segments: readonly Segment[]): number {
  return segments.reduce((sum, { entries }) => sum + entries.length, 0);
}

/** Numbers the tools of segments from `from` on; returns the next number. */
function number(segments: readonly Segment[], from: number): number {
  let next = from;
  for (const segment of segments) {
    segment.first = next;
    next += segment.tools.length;
  }
  return next;
}
