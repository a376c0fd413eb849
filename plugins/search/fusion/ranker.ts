import * as v from "valibot";
import type { MaybePromise, Tool } from "../../../core/mod.ts";
import type { Hit, IndexSnapshot, Ranker, RankerParts, Ranking } from "../../../core/services/search.ts";
import { embeddingScorer } from "../embedding/ranker.ts";
import { combineSnapshots } from "../index-snapshot.ts";
import { createKeywordIndex } from "../keyword/index.ts";
import { keywordScorer } from "../keyword/ranker.ts";
import { type FusionOptions, fusionWeights, type KeywordOptions } from "../options.ts";
import type { QueryScores } from "../scorer.ts";
import { tagScorer } from "../tag.ts";
import { type Candidate, type FusionScores, findCandidates, splitClauses } from "./candidates.ts";
import { defaultGate, type Evidence, estimateRelevance } from "./relevance.ts";

/** Options and dependencies of a fusion. */
export interface FusionParts extends FusionOptions {
  readonly keyword?: KeywordOptions | undefined;
  readonly embedding?: RankerParts | undefined;
}

/** Least relevance of a hit. */
const MIN_RELEVANCE = 0.01;
/** A tool of less than this fraction of the best relevance is not worth its tokens. */
const TAIL = 0.1;
const MAX_NEAREST = 3;

/** Finds candidates for queries: the part of a fusion before it is decided what fits. */
export interface FusionReader {
  update(server: string, tools: readonly Tool[]): void;
  read(query: string, server?: string): MaybePromise<readonly Candidate[]>;
  /** Scores of each scorer for the whole query. */
  query(text: string): MaybePromise<FusionScores>;
  readonly snapshot: IndexSnapshot;
}

/** Creates the reader behind {@link fusionRanker}. */
export function fusionReader({
  keyword,
  embedding,
  weights,
  clauses = true,
}: FusionParts = {}): FusionReader {
  const index = createKeywordIndex();
  // In the order of updates: the scorer of tags uses the names of the keyword index.
  const scorers = {
    keyword: keywordScorer(keyword, index),
    embedding: embeddingScorer(embedding),
    tag: tagScorer(index.names),
  };
  const parsedWeights = v.parse(fusionWeights, weights ?? {});
  /** Meaning is waited for first: tools that go meanwhile must not be found by their words. */
  const queryAll = (texts: readonly string[]): MaybePromise<readonly FusionScores[]> => {
    const combine = (byMeaning: readonly QueryScores[]): FusionScores[] =>
      texts.map((text, at) => ({
        keyword: scorers.keyword.query(text),
        embedding: byMeaning[at] as QueryScores,
        tag: scorers.tag.query(text),
      }));
    const byMeaning = texts.map((text) => scorers.embedding.query(text));
    const isReady = (all: readonly MaybePromise<QueryScores>[]): all is readonly QueryScores[] =>
      !all.some((one) => one instanceof Promise);
    return isReady(byMeaning) ? combine(byMeaning) : Promise.all(byMeaning).then(combine);
  };
  return {
    snapshot: combineSnapshots(Object.values(scorers)),
    query(text) {
      const first = (all: readonly FusionScores[]): FusionScores => all[0] as FusionScores;
      const scores = queryAll([text]);
      return scores instanceof Promise ? scores.then(first) : first(scores);
    },
    update(server, tools) {
      for (const scorer of Object.values(scorers)) scorer.update(server, tools);
    },
    read(query, server) {
      const scores = queryAll([query, ...(clauses ? splitClauses(query) : [])]);
      const toCandidates = ([whole, ...parts]: readonly FusionScores[]): readonly Candidate[] =>
        whole ? findCandidates(whole, parts, parsedWeights, server) : [];
      return scores instanceof Promise ? scores.then(toCandidates) : toCandidates(scores);
    },
  };
}

/**
 * Ranks by words, meaning and tags together, and tells how likely each tool is the one that is meant. Where even
 * the best of them is not likely enough, nothing is found: ten wrong tools would cost an agent more than none.
 */
export function fusionRanker(parts: FusionParts = {}): Ranker {
  const reader = fusionReader(parts);
  const { gate = defaultGate } = parts;
  return {
    name: "fusion",
    snapshot: reader.snapshot,
    update: reader.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const withReason = (hit: Hit, candidate: Candidate, scores: FusionScores): Hit => ({
        ...hit,
        why: {
          scores: candidate.scores,
          terms: [...scores.keyword.terms(hit.tool), ...scores.embedding.terms(hit.tool)],
        },
      });
      const toRanking = (candidates: readonly Candidate[], scores?: FusionScores): Ranking => {
        const [best] = candidates;
        if (!best || !passesGate(best.evidence(), gate))
          return { hits: [], nearest: candidates.slice(0, MAX_NEAREST).map(({ tool }) => tool) };
        const hits: Hit[] = [];
        let relevance = 1;
        for (const candidate of candidates) {
          if (hits.length >= limit) break;
          const evidence = candidate.evidence();
          const own = estimateRelevance(evidence);
          if (!hasAny(evidence) || own < (hits[0]?.relevance ?? 0) * TAIL) continue;
          // The order is that of the scores, and no tool is more relevant than one before it.
          relevance = Math.min(relevance, Math.max(MIN_RELEVANCE, own));
          const hit = { tool: candidate.tool, relevance };
          hits.push(scores ? withReason(hit, candidate, scores) : hit);
        }
        return { hits, nearest: [] };
      };
      if (query.trim() === "") return { hits: [], nearest: [] };
      if (explain)
        // Before the reading, so that nothing comes between the reading and the answer.
        return Promise.resolve(reader.query(query)).then(async (scores) =>
          toRanking(await reader.read(query, server), scores),
        );
      const reading = reader.read(query, server);
      return reading instanceof Promise ? reading.then((one) => toRanking(one)) : toRanking(reading);
    },
  };
}

/**
 * Whether a tool is likely enough. One that the query names always is. Where its meaning is unknown, only words
 * count, and the model, which was fitted to both, would say too little.
 */
function passesGate(evidence: Evidence, gate: number): boolean {
  return evidence.named > 0 || !evidence.isCompared || estimateRelevance(evidence) >= gate;
}

/** Whether a tool has anything of a query at all. */
function hasAny({ cosine, queryCoverage, named }: Evidence): boolean {
  return cosine > 0 || queryCoverage > 0 || named > 0;
}
