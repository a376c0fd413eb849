import type { Tool } from "../../core/mod.ts";
import { createBest } from "./keyword/best.ts";
import { createGains, scoreOf } from "./keyword/gains.ts";
import { createKeywordIndex, type KeywordIndex } from "./keyword/index.ts";
import { createMatching } from "./keyword/match.ts";
import { naming } from "./keyword/names.ts";
import { nearestWords } from "./keyword/nearest.ts";
import { type KeywordOptions, keywordParameters } from "./keyword/options.ts";
import { type KeywordQuery, readQuery } from "./keyword/query.ts";
import type { Hit, Ranker } from "./ranker.ts";
import type { Asked, Scored, Voice } from "./voice.ts";

export { type KeywordField, keywordFields } from "./keyword/fields.ts";
export { createKeywordIndex, type KeywordIndex } from "./keyword/index.ts";
export { type KeywordOptions, type KeywordParameters, keywordDefaults } from "./keyword/options.ts";

/** The share at which every second tool that comes first is the right one. */
const HALF_CERTAIN = 0.1;
const MAX_NEAREST = 3;

/** The voice of keyword search, which answers at once. */
export interface KeywordVoice extends Voice {
  ask(query: string): KeywordAsked;
}

/** What keyword search has to say about one query. */
export interface KeywordAsked extends Asked {
  /** What no tool scores more than, unless the query names it. */
  bound(): number;
  /** The tools that the query would find if its unknown words were those that are written most alike. */
  nearest(count: number, server?: string): readonly Tool[];
}

/**
 * Scores by the words that a tool and a query share: BM25F over name, server, title, description, parameters
 * and tags. An index that is given is shared: whoever tries other options need not read the tools again.
 */
export function keywordVoice(
  options: KeywordOptions = {},
  index: KeywordIndex = createKeywordIndex(),
): KeywordVoice {
  const parameters = keywordParameters(options);
  const gains = createGains(index, parameters);
  const best = createBest(index, gains, parameters);
  const { match, terms } = createMatching(index, gains, parameters);

  const read = (text: string): Read => {
    // Only then do terms keep their numbers.
    const { count } = index.ready();
    const query = readQuery(text, index.terms, count, index.size, parameters);
    const bound = scoreOf(parameters, query.most, { name: 1, server: 1, query: 1 });
    return { revision: index.revision, query, bound, named: index.names.named(text) };
  };

  return {
    name: "keyword",
    keeping: index,
    update: index.update,
    ask(text) {
      let last: Read | undefined;
      // What a word is worth changes with the tools, and tools may come while an answer is still in use.
      const now = (): Read => (last = last?.revision === index.revision ? last : read(text));
      const scored = (tool: Tool, score: number): Scored => {
        const { named, bound } = now();
        return { tool, score: score + bound * (named.get(tool) ?? naming.none) };
      };
      return {
        best(count, server) {
          const { query, named } = now();
          const found = new Map(
            best(query, count, server).map(({ tool, score }) => [tool, scored(tool, score)]),
          );
          for (const tool of named.keys())
            if (server === undefined || tool.server === server)
              found.set(tool, scored(tool, match(query, tool).score));
          return [...found.values()].sort(byScore).slice(0, Math.max(0, count));
        },
        score: (tool) => scored(tool, match(now().query, tool).score).score,
        features(tool) {
          const { query, named } = now();
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
        terms: (tool) => terms(now().query, tool),
        bound: () => now().bound,
        nearest(count, server) {
          now();
          const words = nearestWords(text, index.terms, index.ready().count);
          return words === "" ? [] : best(read(words).query, count, server).map(({ tool }) => tool);
        },
      };
    },
  };
}

/** A query as it was read when the index was at some revision. */
interface Read {
  readonly revision: number;
  readonly query: KeywordQuery;
  /** What no tool scores more than by its words; one that is named scores more by as much as this. */
  readonly bound: number;
  readonly named: ReadonlyMap<Tool, number>;
}

/** Ranks by the words that a tool and a query share; a tool whose name is asked for comes first. */
export function keywordRanker(options: KeywordOptions = {}, index?: KeywordIndex): Ranker {
  const voice = keywordVoice(options, index);
  return {
    name: "keyword",
    keeping: voice.keeping,
    update: voice.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const asked = voice.ask(query);
      const hits = asked.best(limit, server).map(({ tool, score }): Hit => {
        const relevance = relevanceOf(score / asked.bound());
        if (!explain) return { tool, relevance };
        return { tool, relevance, why: { shares: { keyword: score }, terms: asked.terms(tool) } };
      });
      return { hits, nearest: hits.length > 0 || limit <= 0 ? [] : asked.nearest(MAX_NEAREST, server) };
    },
  };
}

/**
 * From the share of what could have been scored to about how often the first of a ranking with that share is
 * the right one, as it was on labelled sets of several kinds. Only what the query names is wholly certain.
 */
function relevanceOf(share: number): number {
  return share >= 1 ? 1 : share / (share + HALF_CERTAIN);
}

function byScore(a: Scored, b: Scored): number {
  return b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1);
}
