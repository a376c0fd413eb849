import type { Tool } from "../../../core/mod.ts";
import type { KeywordParameters } from "../options.ts";
import { createTop, type Scored } from "../scorer.ts";
import type { KeywordIndex, ReadyIndex } from "./index.ts";
import type { KeywordQuery } from "./query.ts";
import { type Impacts, IN_NAME, raiseByCoverage, type TermWeights } from "./term-weights.ts";

/** Concept of a single term, for which no earlier gain need be stored. */
const ALONE = 0;

/** Finds the tools that score best, best first, and of equals the lower id; of one server if it is given. */
type Best = (query: KeywordQuery, count: number, server?: string) => readonly Scored[];

/** Creates the search for the best tools, which goes from the words of a query to the tools that have them. */
export function createBest(
  index: KeywordIndex,
  weights: () => TermWeights,
  parameters: KeywordParameters,
): Best {
  const most = raiseByCoverage(parameters, 1, { name: 1, server: 1, query: 1 });
  let sums = createSums(0);

  return (query, count, server) => {
    const current = weights();
    const { ready, namePart, serverPart } = current;
    const only = server === undefined ? undefined : index.segment(server);
    if (count <= 0 || (server !== undefined && !only)) return [];
    if (sums.totals.length < ready.slots) sums = createSums(ready.slots);
    query.concepts.forEach(({ members }, number) => {
      const concept = members.length > 1 ? number + 1 : ALONE;
      for (const { term, weight } of members) addTerm(sums, current.impactsOf(term), weight, concept);
    });
    const from = only ? only.first : 0;
    const to = only ? only.first + only.tools.length : ready.slots;
    const { totals, found, concepts, inName, inServer, touched } = sums;
    const top = createTop(count, (a, b) => (findTool(ready, a)?.id ?? "") < (findTool(ready, b)?.id ?? ""));
    for (let at = 0; at < sums.count; at++) {
      const slot = touched[at] as number;
      const sum = totals[slot] as number;
      // Most tools cannot be among the best whatever their coverage.
      if (sum * most >= top.least() && slot >= from && slot < to) {
        const coverage = {
          name: Math.min(1, (inName[slot] as number) * namePart(slot)),
          server: Math.min(1, (inServer[slot] as number) * serverPart(slot)),
          query: Math.min(1, (found[slot] as number) / query.idf),
        };
        top.offer(slot, raiseByCoverage(parameters, sum, coverage));
      }
      totals[slot] = 0;
      found[slot] = 0;
      concepts[slot] = 0;
      inName[slot] = 0;
      inServer[slot] = 0;
    }
    sums.count = 0;
    return top.sorted().flatMap(({ item, score }) => {
      const tool = findTool(ready, item);
      return tool ? [{ tool, score }] : [];
    });
  };
}

/** Numbers by tool for the current query. Each query resets them to 0. */
interface Sums {
  readonly totals: Float64Array;
  /** Sum of the weights of the words that were found. */
  readonly found: Float64Array;
  /** The concept that was found last, and its gain. */
  readonly concepts: Uint16Array;
  readonly conceptGains: Float64Array;
  readonly inName: Uint8Array;
  readonly inServer: Uint8Array;
  /** The tools that have any word of the query, and their number. */
  readonly touched: Uint32Array;
  count: number;
}

function createSums(slots: number): Sums {
  return {
    totals: new Float64Array(slots),
    found: new Float64Array(slots),
    concepts: new Uint16Array(slots),
    conceptGains: new Float64Array(slots),
    inName: new Uint8Array(slots),
    inServer: new Uint8Array(slots),
    touched: new Uint32Array(slots),
    count: 0,
  };
}

/** Adds the gain of one term to every tool that has it; of the terms of one concept, only the best counts. */
function addTerm(sums: Sums, { slots, fractions, where }: Impacts, weight: number, concept: number): void {
  const { totals, found, concepts, conceptGains, inName, inServer, touched } = sums;
  let { count } = sums;
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    const gain = weight * (fractions[at] as number);
    const sum = totals[slot] as number;
    if (sum === 0) touched[count++] = slot;
    if (concept !== ALONE) {
      const isFirst = concepts[slot] !== concept;
      const earlier = isFirst ? 0 : (conceptGains[slot] as number);
      if (gain <= earlier) continue;
      concepts[slot] = concept;
      conceptGains[slot] = gain;
      if (!isFirst) {
        totals[slot] = sum + (gain - earlier);
        continue;
      }
    }
    totals[slot] = sum + gain;
    found[slot] = (found[slot] as number) + weight;
    const fields = where[at] as number;
    if (fields !== 0) {
      inName[slot] = (inName[slot] as number) + (fields & IN_NAME);
      inServer[slot] = (inServer[slot] as number) + (fields >> 1);
    }
  }
  sums.count = count;
}

function findTool({ segments }: ReadyIndex, slot: number): Tool | undefined {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle]?.first ?? 0) <= slot) low = middle;
    else high = middle - 1;
  }
  const segment = segments[low];
  return segment?.tools[slot - segment.first];
}
