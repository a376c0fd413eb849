import type { MaybePromise } from "../../../core/mod.ts";
import type { Explanation, Hit, Ranker, Ranking } from "../ranker.ts";
import { keyOf } from "../text.ts";

/** What is remembered of the searches of whoever is asking. */
export interface Memory {
  /** How much tools are raised for a query, by their ids: above 0, and below 1. */
  recall(query: string): MaybePromise<ReadonlyMap<string, number>>;
}

/** So deep is looked for tools that can be raised. */
const DEPTH = 50;
/** What the fullest memory adds to the logarithm of the odds that a tool is meant. */
const STRENGTH = 6;
/** What a tool that came close, but did not fit, is raised from. */
const CLOSE = 0.05;
/** What is longer is no name. */
const LONGEST_NAME = 600;
/** Only a ranker can be certain. */
const ALMOST = 1 - Number.EPSILON;

/**
 * The same ranker, but tools that like queries led to before come sooner. It only orders what the ranker has
 * found: a tool that is gone or switched off does not come back. A tool whose very name is asked for, or of
 * which the ranker is certain, is not overtaken.
 */
export function withHistory(ranker: Ranker, memory: Memory): Ranker {
  return {
    name: ranker.name,
    update: (server, tools) => ranker.update(server, tools),
    async rank(query, options = {}) {
      const { limit = 10, explain = false } = options;
      const boosts = await memory.recall(query);
      if (boosts.size === 0 || limit <= 0) return ranker.rank(query, options);
      const found = await ranker.rank(query, { ...options, limit: Math.max(limit, DEPTH) });
      const hits = raised(query, candidatesOf(found, boosts, explain), boosts).slice(0, limit);
      return { hits, nearest: hits.length > 0 ? [] : found.nearest };
    },
  };
}

/** What fits or, where nothing does, what came close and was right before. */
function candidatesOf(
  { hits, nearest }: Ranking,
  boosts: ReadonlyMap<string, number>,
  explain: boolean,
): readonly Hit[] {
  if (hits.length > 0) return hits;
  return nearest
    .filter(({ id }) => boosts.has(id))
    .map((tool) => ({ tool, relevance: CLOSE, ...(explain && { why: { shares: {}, terms: [] } }) }));
}

function raised(query: string, hits: readonly Hit[], boosts: ReadonlyMap<string, number>): readonly Hit[] {
  const name = keyOf(query.slice(0, LONGEST_NAME));
  const isNamed = ({ tool }: Hit): boolean =>
    name !== "" && (keyOf(tool.name) === name || keyOf(tool.id) === name);
  let ceiling = ALMOST;
  const rows = hits.map((hit) => {
    const boost = boosts.get(hit.tool.id) ?? 0;
    const more = boost > 0 ? moreLikely(hit.relevance, boost * STRENGTH) : 0;
    const relevance = Math.max(hit.relevance, Math.min(ceiling, more));
    if (isNamed(hit)) ceiling = Math.min(ceiling, hit.relevance);
    return { ...hit, relevance, ...(hit.why && { why: withShare(hit.why, relevance - hit.relevance) }) };
  });
  // The order of equals stays.
  return rows.sort((a, b) => b.relevance - a.relevance);
}

function withShare({ shares, terms }: Explanation, history: number): Explanation {
  return { shares: { ...shares, history }, terms };
}

/** In odds, evidence adds up, and never to certainty. */
function moreLikely(relevance: number, by: number): number {
  return 1 / (1 + ((1 - relevance) / relevance) * Math.exp(-by));
}
