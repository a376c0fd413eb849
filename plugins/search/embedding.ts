import type { GatewayError, Tool } from "../../core/mod.ts";
import type { Cache } from "../cache/mod.ts";
import { troubles } from "./embedding/_troubles.ts";
import { catalogVectors } from "./embedding/catalog-vectors.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { type EmbeddingOptions, embedderOf } from "./embedding/options.ts";
import type { Near } from "./embedding/vector-index.ts";
import type { Hit, MatchedTerm, Ranker } from "./ranker.ts";
import type { Asked, Voice } from "./voice.ts";

export { EMBEDDER_UNAVAILABLE, type Embedder } from "./embedding/embedder.ts";
export { type OpenaiEmbedderOptions, openaiEmbedder } from "./embedding/openai.ts";
export { type EmbedderChoice, type EmbeddingOptions, embeddingOptions } from "./embedding/options.ts";
export { staticEmbedder } from "./embedding/static.ts";
export { type TransformersEmbedderOptions, transformersEmbedder } from "./embedding/transformers.ts";

/** What a voice or ranker of meaning is made of. */
export interface EmbeddingParts extends EmbeddingOptions {
  /** Where vectors are kept that cost something. */
  readonly cache?: Cache | undefined;
  /** Hears once of each way in which the embedder does not work. */
  readonly onTrouble?: ((error: GatewayError) => void) | undefined;
}

/** A search does not wait longer than this for the vector of its query. */
const QUERY_MS = 2_000;
const MAX_REMEMBERED = 200;
/** What is less likely than this to be the right tool is not worth being shown. */
const LEAST_RELEVANCE = 0.085;
const NEAREST = 3;

/**
 * Scores tools by the cosine between their meaning and that of the query. An embedder that takes its time is
 * never waited for with the catalog: until a tool has its vector, it scores 0.
 */
export function embeddingVoice({ embedder: choice, cache, onTrouble }: EmbeddingParts = {}): Voice {
  const embedder = embedderOf(choice);
  const trouble = troubles(embedder, onTrouble);
  const vectors = catalogVectors(embedder, trouble, cache);
  const remembered = new Map<string, Float32Array>();

  const askedOf = (query: string, vector: Float32Array): Asked => {
    const near = vectors.near(vector);
    return {
      best: near.best,
      score: (tool) => Math.max(0, near.cosine(tool)),
      features: (tool) => ({ cosine: near.cosine(tool) }),
      terms: (tool) => termsOf(embedder, query, near, tool),
    };
  };
  const remember = (query: string, vector: Float32Array | undefined): Asked => {
    if (!vector) return silence;
    trouble.over();
    remembered.delete(query);
    remembered.set(query, vector);
    const [oldest] = remembered.keys();
    if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    return askedOf(query, vector);
  };
  const failed = (thrown: unknown): Asked => {
    trouble.tell(thrown);
    return silence;
  };

  return {
    name: "embedding",
    keeping: vectors.keeping,
    update: vectors.update,
    ask(query) {
      vectors.resume();
      if (query.trim() === "" || vectors.size === 0) return silence;
      const known = remembered.get(query);
      if (known) return askedOf(query, known);
      if (trouble.pausing) return silence;
      try {
        const signal = embedder.prompt ? undefined : AbortSignal.timeout(QUERY_MS);
        const embedded = embedder.embedQueries([query], signal);
        if (!(embedded instanceof Promise))
          return embedder.prompt ? askedOf(query, embedded[0] as Float32Array) : remember(query, embedded[0]);
        return inTime(embedded, signal)
          .then(([vector]) => remember(query, vector))
          .catch(failed);
      } catch (thrown) {
        return failed(thrown);
      }
    },
  };
}

/** Ranks by meaning alone. */
export function embeddingRanker(parts: EmbeddingParts = {}): Ranker {
  const embedder = embedderOf(parts.embedder);
  const voice = embeddingVoice({ ...parts, embedder });
  const relevanceOf = embedder.relevance ?? likelihood;
  return {
    name: "embedding",
    keeping: voice.keeping,
    update: voice.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const answer = (asked: Asked) => {
        const hits: Hit[] = [];
        const best = asked.best(Math.max(NEAREST, limit), server);
        for (const { tool, score } of best.slice(0, Math.max(0, limit))) {
          const relevance = relevanceOf(score);
          if (relevance < LEAST_RELEVANCE) break;
          const why = { shares: { embedding: score }, terms: explain ? asked.terms(tool) : [] };
          hits.push({ tool, relevance, ...(explain && { why }) });
        }
        const nearest = hits.length > 0 ? [] : best.slice(0, NEAREST).map(({ tool }) => tool);
        return { hits, nearest };
      };
      const asked = voice.ask(query);
      return asked instanceof Promise ? asked.then(answer) : answer(asked);
    },
  };
}

/** What an embedder says that has nothing to say. */
const silence: Asked = {
  best: () => [],
  score: () => 0,
  features: () => ({ cosine: 0 }),
  terms: () => [],
};

/** For embedders that do not say it of themselves; those of today put what belongs together near 0.5. */
function likelihood(cosine: number): number {
  return 1 / (1 + Math.exp(12 * (0.5 - cosine)));
}

function termsOf(embedder: Embedder, query: string, near: Near, tool: Tool): readonly MatchedTerm[] {
  const vector = near.vector(tool);
  if (!vector) return [];
  return (embedder.explain?.(query, vector) ?? [])
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share)
    .map(({ word, share }) => ({ term: word, field: "meaning", share }));
}

/** Not every embedder heeds a signal. */
async function inTime<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, late]);
}
