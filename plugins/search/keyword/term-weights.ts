import { type KeywordParameters, keywordFields } from "../options.ts";
import type { KeywordIndex, ReadyIndex } from "./index.ts";
import { FIELDS, SHIFT } from "./segment.ts";

/** Bit of a word that is in the tool's name. */
export const IN_NAME = 1;
/** Bit of a word that is in the server's name. */
export const IN_SERVER = 2;
const NAME = keywordFields.indexOf("name");
const SERVER = keywordFields.indexOf("server");
/** Limit of the cached impacts: entries for each tool, and some more. */
const CACHED_PER_TOOL = 20;
const MIN_CACHED = 100_000;

/** Weights of terms in the tools of an index. */
export interface TermWeights {
  readonly ready: ReadyIndex;
  /** Weight of one occurrence in a field of a tool; 0 for a removed tool. */
  value(slot: number, field: number): number;
  /** One divided by the number of words in the name of a tool. */
  namePart(slot: number): number;
  /** One divided by the number of words in the name of its server. */
  serverPart(slot: number): number;
  /** Impact of a term on each tool that has it. */
  impactsOf(term: number): Impacts;
}

/** Impact of a term on each tool that has it, as a fraction of the most it can be. */
export interface Impacts {
  readonly slots: Uint32Array;
  readonly fractions: Float32Array;
  /** Whether it is in the name, or in the server's: {@link IN_NAME}, {@link IN_SERVER}. */
  readonly where: Uint8Array;
}

/** Returns the current weights, computed again only if the index has changed. */
export function createTermWeights(index: KeywordIndex, parameters: KeywordParameters): () => TermWeights {
  let current: TermWeights | undefined;
  return () => {
    const ready = index.ready();
    if (current?.ready !== ready) current = computeWeights(ready, parameters);
    return current;
  };
}

/** Saturates an amount of a word: more of it counts, but ever less. Rounded, so that all callers get the same. */
export function saturate(amount: number, k1: number): number {
  return Math.fround(amount / (k1 + amount));
}

/** Computes values on demand: a query needs few of all tools, and the first one is waited for. */
function computeWeights(ready: ReadyIndex, parameters: KeywordParameters): TermWeights {
  const { lengths, meanLengths } = ready;
  const weights = keywordFields.map((name) => parameters.weights[name]);
  const penalties = keywordFields.map((name) => parameters.lengths[name]);
  const slopes = penalties.map((penalty, field) => penalty / (meanLengths[field] || 1));
  const value = (slot: number, field: number): number => {
    const length = lengths[slot * FIELDS + field] as number;
    if (length === 0) return 0;
    const divisor = 1 - (penalties[field] as number) + (slopes[field] as number) * length;
    return Math.fround((weights[field] as number) / divisor);
  };
  const inverseLength = (slot: number, field: number): number => {
    const length = lengths[slot * FIELDS + field] as number;
    return length === 0 ? 0 : Math.fround(1 / length);
  };
  return {
    ready,
    value,
    namePart: (slot) => inverseLength(slot, NAME),
    serverPart: (slot) => inverseLength(slot, SERVER),
    impactsOf: cacheImpacts(ready, value, parameters.k1),
  };
}

/** Caches impacts up to a limit: the same words are searched again and again. */
function cacheImpacts(ready: ReadyIndex, value: TermWeights["value"], k1: number): (term: number) => Impacts {
  const limit = ready.slots * CACHED_PER_TOOL + MIN_CACHED;
  const cached = new Map<number, Impacts>();
  let size = 0;
  return (term) => {
    const known = cached.get(term);
    if (known) return known;
    const impacts = computeImpacts(term, ready, value, k1);
    size += impacts.slots.length;
    if (size > limit) {
      cached.clear();
      size = impacts.slots.length;
    }
    cached.set(term, impacts);
    return impacts;
  };
}

function computeImpacts(
  term: number,
  { postings }: ReadyIndex,
  value: TermWeights["value"],
  k1: number,
): Impacts {
  let most = 0;
  for (const { starts } of postings) most += Math.max(0, (starts[term + 1] ?? 0) - (starts[term] ?? 0));
  const slots = new Uint32Array(most);
  const fractions = new Float32Array(most);
  const where = new Uint8Array(most);
  let count = 0;
  for (const { starts, entries } of postings) {
    const end = starts[term + 1] ?? 0;
    for (let at = starts[term] ?? 0; at < end; ) {
      const slot = (entries[at] as number) >>> SHIFT;
      let amount = 0;
      let fields = 0;
      for (; at < end && (entries[at] as number) >>> SHIFT === slot; at++) {
        const entry = entries[at] as number;
        const field = (entry >>> 7) & 7;
        fields |= 1 << field;
        amount += value(slot, field) * (entry & 127);
      }
      // A removed tool, or a field of weight 0.
      if (amount === 0) continue;
      slots[count] = slot;
      fractions[count] = saturate(amount, k1);
      where[count++] = fields & (IN_NAME | IN_SERVER);
    }
  }
  return { slots: slots.slice(0, count), fractions: fractions.slice(0, count), where: where.slice(0, count) };
}

/** Fractions of a name, a server's name and a query that were found, each between 0 and 1. */
export interface Coverage {
  readonly name: number;
  readonly server: number;
  readonly query: number;
}

/** Raises the sum over the words of a query by how much of the names and of the query was found. */
export function raiseByCoverage(
  parameters: KeywordParameters,
  sum: number,
  { name, server, query }: Coverage,
): number {
  // Half of a name is worth less than half: the other half tells what else the tool is about.
  const raise =
    parameters.nameCoverage * name * name +
    parameters.serverCoverage * server +
    parameters.queryCoverage * query;
  return sum * (1 + raise);
}
