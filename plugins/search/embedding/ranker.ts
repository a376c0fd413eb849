import type { Tool } from "../../../core/mod.ts";
import type { Embedder, Hit, MatchedTerm, Ranker, RankerParts } from "../../../core/services/search.ts";
import type { QueryScores, Scorer } from "../scorer.ts";
import { createCatalogVectors } from "./catalog-vectors.ts";
import { trackAvailability } from "./embedder.ts";
import { staticEmbedder } from "./static.ts";
import type { Similarity } from "./vector-index.ts";

/** Timeout for the vector of a query; the search goes on without it. */
const QUERY_TIMEOUT_MS = 2_000;
const MAX_CACHED_QUERIES = 200;
/** Least relevance of a hit. */
const MIN_RELEVANCE = 0.085;
const MAX_NEAREST = 3;

/**
 * Scores tools by the cosine between their meaning and that of the query. No search waits for the vectors of the
 * catalog: until a tool has its vector, it scores 0.
 */
export function embeddingScorer({ embedder = staticEmbedder(), cache, onTrouble }: RankerParts = {}): Scorer {
  const availability = trackAvailability(embedder, onTrouble);
  const vectors = createCatalogVectors(embedder, availability, cache);
  const cached = new Map<string, Float32Array>();

  const compare = (query: string, vector: Float32Array): QueryScores => {
    const similarity = vectors.compare(vector);
    return {
      best: similarity.best,
      score: (tool) => Math.max(0, similarity.cosine(tool)),
      features: (tool) => ({ cosine: similarity.cosine(tool) }),
      terms: (tool) => explain(embedder, query, similarity, tool),
    };
  };
  const compareAndCache = (query: string, vector: Float32Array | undefined): QueryScores => {
    if (!vector) return noScores;
    availability.succeeded();
    cached.delete(query);
    cached.set(query, vector);
    const [oldest] = cached.keys();
    if (cached.size > MAX_CACHED_QUERIES && oldest !== undefined) cached.delete(oldest);
    return compare(query, vector);
  };
  const fail = (thrown: unknown): QueryScores => {
    availability.failed(thrown);
    return noScores;
  };

  return {
    name: "embedding",
    snapshot: vectors.snapshot,
    update: vectors.update,
    query(text) {
      vectors.resume();
      if (text.trim() === "" || vectors.size === 0) return noScores;
      const known = cached.get(text);
      if (known) return compare(text, known);
      if (availability.isPaused) return noScores;
      try {
        const signal = embedder.isSync ? undefined : AbortSignal.timeout(QUERY_TIMEOUT_MS);
        const embedded = embedder.embedQueries([text], signal);
        if (!(embedded instanceof Promise))
          return embedder.isSync
            ? compare(text, embedded[0] as Float32Array)
            : compareAndCache(text, embedded[0]);
        return withSignal(embedded, signal)
          .then(([vector]) => compareAndCache(text, vector))
          .catch(fail);
      } catch (thrown) {
        return fail(thrown);
      }
    },
  };
}

/** Ranks by meaning alone. */
export function embeddingRanker({ embedder = staticEmbedder(), ...parts }: RankerParts = {}): Ranker {
  const scorer = embeddingScorer({ ...parts, embedder });
  const toRelevance = embedder.relevance ?? defaultRelevance;
  return {
    name: "embedding",
    snapshot: scorer.snapshot,
    update: scorer.update,
    rank(query, { server, limit = 10, explain: isExplained = false } = {}) {
      const toRanking = (scores: QueryScores) => {
        const hits: Hit[] = [];
        const best = scores.best(Math.max(MAX_NEAREST, limit), server);
        for (const { tool, score } of best.slice(0, Math.max(0, limit))) {
          const relevance = toRelevance(score);
          if (relevance < MIN_RELEVANCE) break;
          const why = { scores: { embedding: score }, terms: isExplained ? scores.terms(tool) : [] };
          hits.push({ tool, relevance, ...(isExplained && { why }) });
        }
        const nearest = hits.length > 0 ? [] : best.slice(0, MAX_NEAREST).map(({ tool }) => tool);
        return { hits, nearest };
      };
      const scores = scorer.query(query);
      return scores instanceof Promise ? scores.then(toRanking) : toRanking(scores);
    },
  };
}

/** Scores while the embedder does not work. */
const noScores: QueryScores = {
  best: () => [],
  score: () => 0,
  features: () => ({ cosine: 0 }),
  terms: () => [],
};

/** For embedders without a `relevance`; current models put related texts near a cosine of 0.5. */
function defaultRelevance(cosine: number): number {
  return 1 / (1 + Math.exp(12 * (0.5 - cosine)));
}

function explain(
  embedder: Embedder,
  query: string,
  similarity: Similarity,
  tool: Tool,
): readonly MatchedTerm[] {
  const vector = similarity.vector(tool);
  if (!vector) return [];
  return (embedder.explain?.(query, vector) ?? [])
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share)
    .map(({ word, share }) => ({ term: word, field: "meaning", share }));
}

/** Rejects when the signal aborts: not every embedder heeds it. */
async function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
