import { keywordFields } from "./fields.ts";
import type { KeywordIndex, Ready } from "./index.ts";
import type { KeywordParameters } from "./options.ts";
import { FIELDS, SHIFT } from "./segment.ts";

/** The bits of the fields that are told apart where a word is found. */
export const IN_NAME = 1;
/** The same for the server's name. */
export const IN_SERVER = 2;
const NAME = keywordFields.indexOf("name");
const SERVER = keywordFields.indexOf("server");
/** How much is remembered of terms that were asked for, in tools: so many times all tools, and some more. */
const KEPT_PER_TOOL = 20;
const KEPT_AT_LEAST = 100_000;

/** What words are worth in the tools of an index as it is. */
export interface Gains {
  readonly ready: Ready;
  /** What one occurrence is worth in a field of a tool; 0 for tools that are gone. */
  value(slot: number, field: number): number;
  /** One by the number of words in the name of a tool. */
  namePart(slot: number): number;
  /** The same for its server's name. */
  serverPart(slot: number): number;
  /** What a term is worth in each tool that has it. */
  impactsOf(term: number): Impacts;
}

/** What a term is worth in each tool that has it, as a share of what it can be worth at most. */
export interface Impacts {
  readonly slots: Uint32Array;
  readonly shares: Float32Array;
  /** Whether it is in the name, or in the server's. */
  readonly where: Uint8Array;
}

/** Returns what words are worth, made anew only where the index has changed. */
export function createGains(index: KeywordIndex, parameters: KeywordParameters): () => Gains {
  let made: Gains | undefined;
  return () => {
    const ready = index.ready();
    if (made?.ready !== ready) made = gainsOf(ready, parameters);
    return made;
  };
}

/** The share for so much of a word: more of it counts, but ever less. Rounded, so that all who ask get the same. */
export function shareOf(amount: number, k1: number): number {
  return Math.fround(amount / (k1 + amount));
}

/** Reckoned when it is asked for: a query asks for few of all tools, and the first one is waited for. */
function gainsOf(ready: Ready, parameters: KeywordParameters): Gains {
  const { lengths, meanLengths } = ready;
  const weights = keywordFields.map((name) => parameters.weights[name]);
  const parts = keywordFields.map((name) => parameters.lengths[name]);
  const slopes = parts.map((part, field) => part / (meanLengths[field] || 1));
  const value = (slot: number, field: number): number => {
    const length = lengths[slot * FIELDS + field] as number;
    if (length === 0) return 0;
    const divisor = 1 - (parts[field] as number) + (slopes[field] as number) * length;
    return Math.fround((weights[field] as number) / divisor);
  };
  const partOf = (slot: number, field: number): number => {
    const length = lengths[slot * FIELDS + field] as number;
    return length === 0 ? 0 : Math.fround(1 / length);
  };
  return {
    ready,
    value,
    namePart: (slot) => partOf(slot, NAME),
    serverPart: (slot) => partOf(slot, SERVER),
    impactsOf: rememberedImpacts(ready, value, parameters.k1),
  };
}

/** Words are asked for again and again, so what they are worth is remembered as far as there is room. */
function rememberedImpacts(ready: Ready, value: Gains["value"], k1: number): (term: number) => Impacts {
  const room = ready.slots * KEPT_PER_TOOL + KEPT_AT_LEAST;
  const remembered = new Map<number, Impacts>();
  let taken = 0;
  return (term) => {
    const known = remembered.get(term);
    if (known) return known;
    const impacts = impactsOf(term, ready, value, k1);
    taken += impacts.slots.length;
    if (taken > room) {
      remembered.clear();
      taken = impacts.slots.length;
    }
    remembered.set(term, impacts);
    return impacts;
  };
}

function impactsOf(term: number, { postings }: Ready, value: Gains["value"], k1: number): Impacts {
  let most = 0;
  for (const { starts } of postings) most += Math.max(0, (starts[term + 1] ?? 0) - (starts[term] ?? 0));
  const slots = new Uint32Array(most);
  const shares = new Float32Array(most);
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
      // A tool that is gone, or a field that counts for nothing.
      if (amount === 0) continue;
      slots[count] = slot;
      shares[count] = shareOf(amount, k1);
      where[count++] = fields & (IN_NAME | IN_SERVER);
    }
  }
  return { slots: slots.slice(0, count), shares: shares.slice(0, count), where: where.slice(0, count) };
}

/** The shares of a name, a server's name and a query that were found, each between 0 and 1. */
export interface Coverage {
  readonly name: number;
  readonly server: number;
  readonly query: number;
}

/** Raises the sum over the words of a query by how much of the names and of the query was found. */
export function scoreOf(
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
