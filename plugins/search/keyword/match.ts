import type { Tool } from "../../../core/mod.ts";
import type { MatchedTerm } from "../ranker.ts";
import { keywordFields } from "./fields.ts";
import { type Coverage, type Gains, IN_NAME, IN_SERVER, scoreOf, shareOf } from "./gains.ts";
import type { KeywordIndex } from "./index.ts";
import type { KeywordParameters } from "./options.ts";
import type { KeywordQuery } from "./query.ts";
import { type Segment, SHIFT } from "./segment.ts";

/** How well a tool fits a query. */
export interface Match {
  readonly score: number;
  /** The sum over the words of the query, without anything else. */
  readonly sum: number;
  readonly coverage: Coverage;
}

/** Looks at one tool: the same sums in the same order as where all tools are searched, so that they are equal. */
export interface Matching {
  match(query: KeywordQuery, tool: Tool): Match;
  /** The words that were found, and what each adds by each field. */
  terms(query: KeywordQuery, tool: Tool): readonly MatchedTerm[];
}

const nothing: Match = { score: 0, sum: 0, coverage: { name: 0, server: 0, query: 0 } };

/** Makes the view of single tools. */
export function createMatching(
  index: KeywordIndex,
  gains: () => Gains,
  parameters: KeywordParameters,
): Matching {
  const { k1 } = parameters;

  return {
    match({ concepts, idf }, tool) {
      const { value, namePart, serverPart } = gains();
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
          for (const entry of entriesOf(segment, number, term)) {
            const field = (entry >>> 7) & 7;
            where |= 1 << field;
            amount += value(slot, field) * (entry & 127);
          }
          if (amount === 0) continue;
          const gain = weight * shareOf(amount, k1);
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
      return { score: scoreOf(parameters, sum, coverage), sum, coverage };
    },
    terms({ concepts }, tool) {
      const { value } = gains();
      const place = index.place(tool);
      if (!place) return [];
      const [segment, number] = place;
      const slot = segment.first + number;
      const terms: MatchedTerm[] = [];
      for (const { word, members } of concepts) {
        let best: MatchedTerm[] = [];
        let most = 0;
        for (const { term, weight } of members) {
          const parts = Array.from(entriesOf(segment, number, term), (entry) => {
            const field = (entry >>> 7) & 7;
            return { field, amount: value(slot, field) * (entry & 127) };
          }).filter(({ amount }) => amount > 0);
          const sum = parts.reduce((total, { amount }) => total + amount, 0);
          const gain = weight * shareOf(sum, k1);
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

function entriesOf({ starts, entries }: Segment, tool: number, term: number): Uint32Array {
  let from = starts[tool] ?? 0;
  const end = starts[tool + 1] ?? 0;
  while (from < end && (entries[from] ?? 0) >>> SHIFT !== term) from++;
  let to = from;
  while (to < end && (entries[to] ?? 0) >>> SHIFT === term) to++;
  return entries.subarray(from, to);
}
