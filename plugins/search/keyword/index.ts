import type { Tool } from "../../../core/mod.ts";
import { createNames, type Names } from "./names.ts";
import { type Postings, postingsOf } from "./postings.ts";
import { countTools, FIELDS, readSegment, renumber, type Segment } from "./segment.ts";
import { type Remembered, remember, writeSnapshot } from "./snapshot.ts";
import { createTerms, type Terms } from "./terms.ts";

/** Tools as numbers, for whoever scores them. */
export interface KeywordIndex {
  /** Takes in the tools of one server in place of those it had. */
  update(server: string, tools: readonly Tool[]): void;
  /** Grows with every change. */
  readonly revision: number;
  /** How many tools there are. */
  readonly size: number;
  /** Their words. What is known of them is good until the next change, once the index is in order. */
  readonly terms: Terms;
  readonly names: Names;
  /** Everything that is searched; what has changed is put in order first. */
  ready(): Ready;
  /** The tools of one server. */
  segment(server: string): Segment | undefined;
  /** Where a tool is: its server's tools, and its number among them. */
  place(tool: Tool): readonly [Segment, number] | undefined;
  /** All of it as bytes, for {@link KeywordIndex.load} of another index. */
  save(): Uint8Array;
  /** Takes in what was saved, to spare the reading of servers that are still the same. False if it is damaged. */
  load(bytes: Uint8Array): boolean;
}

/** An index in order. */
export interface Ready {
  readonly postings: readonly Postings[];
  /** One more than the highest number of a tool. Some numbers may stand for tools that are gone. */
  readonly slots: number;
  /** The segments by the numbers of their tools, in rising order. */
  readonly segments: readonly Segment[];
  /** The mean number of words in each field, among tools that have it. */
  readonly meanLengths: readonly number[];
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
  const words = new Float64Array(FIELDS);
  const filled = new Float64Array(FIELDS);
  let terms = createTerms();
  let remembered: Remembered | undefined;
  let size = 0;
  let revision = 0;
  let settled = new Set<Segment>();
  let settledSize = 0;
  let main: Postings = { starts: new Uint32Array(1), entries: new Uint32Array(0) };
  let slots = 0;
  let ready: Ready | undefined;

  const account = (segment: Segment, change: 1 | -1): void => {
    countTools(segment, terms.counts(), change);
    size += change * segment.tools.length;
    for (let at = 0; at < segment.lengths.length; at++) {
      const length = segment.lengths[at] as number;
      const field = at % FIELDS;
      words[field] = (words[field] as number) + change * length;
      if (length > 0) filled[field] = (filled[field] as number) + change;
    }
  };

  /** Forgets terms that no tool has any more, where they are most of all. */
  const dropTerms = (all: readonly Segment[]): void => {
    const counts = terms.counts();
    let dead = 0;
    for (let term = 0; term < terms.size; term++) if (counts[term] === 0) dead++;
    if (dead < deadTerms || dead * 2 < terms.size) return;
    const old = terms;
    terms = createTerms();
    const numbers = new Map<number, number>();
    const numberOf = (term: number): number => {
      const known = numbers.get(term) ?? terms.addTerm(old.text(term));
      numbers.set(term, known);
      return known;
    };
    for (const segment of all) {
      renumber(segment, numberOf);
      countTools(segment, terms.counts(), 1);
    }
  };

  const order = (): Ready => {
    const all = [...segments.values()];
    let apart = all.filter((segment) => !settled.has(segment));
    const total = sizeOf(all);
    const apartSize = sizeOf(apart);
    const gone = settledSize - (total - apartSize);
    if (apartSize + gone > Math.max(leastApart, settledSize / 16)) {
      dropTerms(all);
      slots = number(all, 0);
      main = postingsOf(all, terms.size);
      settled = new Set(all);
      settledSize = total;
      apart = [];
    }
    const end = number(apart, slots);
    return {
      postings: apart.length > 0 ? [main, postingsOf(apart, terms.size)] : [main],
      slots: end,
      segments: all.toSorted((a, b) => a.first - b.first),
      meanLengths: Array.from(words, (sum, field) => sum / Math.max(1, filled[field] as number)),
    };
  };

  return {
    update(server, tools) {
      const old = segments.get(server);
      if (old) {
        account(old, -1);
        names.remove(server, old.tools);
        segments.delete(server);
      }
      if (tools.length > 0) {
        const segment = remembered?.segment(server, tools, terms) ?? readSegment(tools, terms);
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
    save: () => writeSnapshot(segments, terms),
    load(bytes) {
      remembered = remember(bytes);
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
