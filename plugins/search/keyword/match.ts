import type { Tool } from "../../../core/mod.ts";
import type { MatchedTerm } from "../../../core/services/search.ts";
import { type KeywordParameters, keywordFields } from "../options.ts";
import type { KeywordIndex } from "./index.ts";
import type { KeywordQuery } from "./query.ts";
import { type Segment, SHIFT } from "./segment.ts";
import {
  type Coverage,
  IN_NAME,
  IN_SERVER,
  raiseByCoverage,
  saturate,
  type TermWeights,
} from "./term-weights.ts";

/** Match of one tool with a query. */
interface Match {
  readonly score: number;
  /** Sum over the words of the query, without the bonus for coverage. */
  readonly sum: number;
  readonly coverage: Coverage;
}

/** Matches single tools. Sums in the same order as the search over all tools, so that scores are equal. */
interface Matching {
  match(query: KeywordQuery, tool: Tool): Match;
  /** The words that were found, with their contribution by field. */
  terms(query: KeywordQuery, tool: Tool): readonly MatchedTerm[];
}

const nothing: Match = { score: 0, sum: 0, coverage: { name: 0, server: 0, query: 0 } };

/** Creates the matching of single tools. */
export function createMatching(
  index: KeywordIndex,
  weights: () => TermWeights,
  parameters: KeywordParameters,
): Matching {
  const { k1 } = parameters;

  return {
    match({ concepts, idf }, tool) {
      const { value, namePart, serverPart } = weights();
      const place = index.place(tool);
      if (!place) return nothing;
      const [segment, number] = place;
      const slot = segment.first + number;
      let [sum, found, inName, inServer] = [0, 0, 0, 0];
      for (const { members } of concepts) {
        let best = 0;
        for (const { term, weight } of members) {
          let amount = 0;
          let where = 0;
          for (const entry of findEntries(segment, number, term)) {
            const field = (entry >>> 7) & 7;
            where |= 1 << field;
            amount += value(slot, field) * (entry & 127);
          }
          if (amount === 0) continue;
          const gain = weight * saturate(amount, k1);
          if (best === 0) {
            sum += gain;
            found += weight;
            if (where & IN_NAME) inName++;
            if (where & IN_SERVER) inServer++;
          } else if (gain > best) {
            sum += gain - best;
          }
          best = Math.max(best, gain);
        }
      }
      if (sum === 0) return nothing;
      const coverage = {
        name: Math.min(1, inName * namePart(slot)),
        server: Math.min(1, inServer * serverPart(slot)),
        query: Math.min(1, found / idf),
      };
      return { score: raiseByCoverage(parameters, sum, coverage), sum, coverage };
    },
    terms({ concepts }, tool) {
      const { value } = weights();
      const place = index.place(tool);
      if (!place) return [];
      const [segment, number] = place;
      const slot = segment.first + number;
      const terms: MatchedTerm[] = [];
      for (const { word, members } of concepts) {
        let best: MatchedTerm[] = [];
        let most = 0;
        for (const { term, weight } of members) {
          const parts = Array.from(findEntries(segment, number, term), (entry) => {
            const field = (entry >>> 7) & 7;
            return { field, amount: value(slot, field) * (entry & 127) };
          }).filter(({ amount }) => amount > 0);
          const sum = parts.reduce((total, { amount }) => total + amount, 0);
          const gain = weight * saturate(sum, k1);
          if (gain <= most) continue;
          most = gain;
          best = parts.map(({ field, amount }) => ({
            term: word,
            field: keywordFields[field] ?? "",
            share: (gain * amount) / sum,
          }));
        }
        terms.push(...best);
      }
      return terms.sort((a, b) => b.share - a.share);
    },
  };
}

function findEntries({ starts, entries }: Segment, tool: number, term: number): Uint32Array {
  let from = starts[tool] ?? 0;
  const end = starts[tool + 1] ?? 0;
  while (from < end && (entries[from] ?? 0) >>> SHIFT !== term) from++;
  let to = from;
  while (to < end && (entries[to] ?? 0) >>> SHIFT === term) to++;
  return entries.subarray(from, to);
}
