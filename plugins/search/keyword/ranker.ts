import * as v from "valibot";
import type { Tool } from "../../../core/mod.ts";
import type { Hit, Ranker } from "../../../core/services/search.ts";
import { naming } from "../../lib/tool-index.ts";
import { type KeywordOptions, keywordOptions } from "../options.ts";
import type { QueryScores, Scored, Scorer } from "../scorer.ts";
import { createBest } from "./best.ts";
import { createKeywordIndex, type KeywordIndex } from "./index.ts";
import { createMatching } from "./match.ts";
import { correctWords, type KeywordQuery, readQuery } from "./query.ts";
import { createTermWeights, raiseByCoverage } from "./term-weights.ts";

/** Fraction of the possible score at which every second tool that comes first is the right one. */
const HALF_CERTAIN = 0.1;
const MAX_NEAREST = 3;

/** Scorer by keywords, which answers synchronously. */
export interface KeywordScorer extends Scorer {
  query(text: string): KeywordScores;
}

/** Keyword scores of tools for one query. */
export interface KeywordScores extends QueryScores {
  /** Upper bound of the score of a tool that the query does not name. */
  bound(): number;
  /** The tools that the query would find with its unknown words corrected. */
  nearest(count: number, server?: string): readonly Tool[];
}

/**
 * Scores by the words that a tool and a query have in common: BM25F over name, server, title, description, parameters
 * and tags. Scorers with different options can share an index, so that the tools are read once.
 */
export function keywordScorer(
  options: KeywordOptions = {},
  index: KeywordIndex = createKeywordIndex(),
): KeywordScorer {
  const parameters = v.parse(keywordOptions, options);
  const weights = createTermWeights(index, parameters);
  const best = createBest(index, weights, parameters);
  const { match, terms } = createMatching(index, weights, parameters);

  const read = (text: string): ReadQuery => {
    // Terms have stable numbers only once the index is in order.
    const { count } = index.ready();
    const query = readQuery(text, index.terms, count, index.size, parameters);
    const bound = raiseByCoverage(parameters, query.most, { name: 1, server: 1, query: 1 });
    return { revision: index.revision, query, bound, named: index.names.named(text) };
  };

  return {
    name: "keyword",
    snapshot: index,
    update: index.update,
    query(text) {
      let last: ReadQuery | undefined;
      // The weight of a word changes with the tools, and tools may change while an answer is in use.
      const current = (): ReadQuery => (last = last?.revision === index.revision ? last : read(text));
      const toScored = (tool: Tool, score: number): Scored => {
        const { named, bound } = current();
        return { tool, score: score + bound * (named.get(tool) ?? naming.none) };
      };
      return {
        best(count, server) {
          const { query, named } = current();
          const found = new Map(
            best(query, count, server).map(({ tool, score }) => [tool, toScored(tool, score)]),
          );
          for (const tool of named.keys())
            if (server === undefined || tool.server === server)
              found.set(tool, toScored(tool, match(query, tool).score));
          return [...found.values()].sort(byScore).slice(0, Math.max(0, count));
        },
        score: (tool) => toScored(tool, match(current().query, tool).score).score,
        features(tool) {
          const { query, named } = current();
          const { sum, coverage } = match(query, tool);
          return {
            bm25f: sum,
            share: sum / query.most,
            queryCoverage: coverage.query,
            nameCoverage: coverage.name,
            serverCoverage: coverage.server,
            named: named.get(tool) ?? naming.none,
          };
        },
        terms: (tool) => terms(current().query, tool),
        bound: () => current().bound,
        nearest(count, server) {
          current();
          const words = correctWords(text, index.terms, index.ready().count);
          return words === "" ? [] : best(read(words).query, count, server).map(({ tool }) => tool);
        },
      };
    },
  };
}

/** A query as it was read at some revision of the index. */
interface ReadQuery {
  readonly revision: number;
  readonly query: KeywordQuery;
  /** Upper bound of the score by words; a tool that is named scores as much more. */
  readonly bound: number;
  readonly named: ReadonlyMap<Tool, number>;
}

/** Ranks by common words; a tool whose name is the query comes first. */
export function keywordRanker(options: KeywordOptions = {}, index?: KeywordIndex): Ranker {
  const scorer = keywordScorer(options, index);
  return {
    name: "keyword",
    snapshot: scorer.snapshot,
    update: scorer.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const scores = scorer.query(query);
      const hits = scores.best(limit, server).map(({ tool, score }): Hit => {
        const relevance = toRelevance(score / scores.bound());
        if (!explain) return { tool, relevance };
        return { tool, relevance, why: { scores: { keyword: score }, terms: scores.terms(tool) } };
      });
      return { hits, nearest: hits.length > 0 || limit <= 0 ? [] : scores.nearest(MAX_NEAREST, server) };
    },
  };
}

/**
 * Maps the fraction of the possible score to about how often the first tool of a ranking with that fraction is the
 * right one, measured on labelled sets of several kinds. Only a tool that the query names is wholly certain.
 */
function toRelevance(fraction: number): number {
  return fraction >= 1 ? 1 : fraction / (fraction + HALF_CERTAIN);
}

function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1);
}
