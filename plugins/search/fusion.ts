import type { MaybePromise, Tool } from "../../core/mod.ts";
import { type EmbeddingParts, embeddingVoice } from "./embedding.ts";
import { clausesOf } from "./fusion/clauses.ts";
import type { Evidence } from "./fusion/evidence.ts";
import { type FusionOptions, fusionDefaults } from "./fusion/options.ts";
import { type Candidate, read, type Voiced } from "./fusion/read.ts";
import { relevanceOf } from "./fusion/relevance.ts";
import type { Keeping } from "./keeping/keeping.ts";
import { keepingOf } from "./keeping/several.ts";
import { createKeywordIndex, type KeywordOptions, keywordVoice } from "./keyword.ts";
import type { Hit, Ranker, Ranking } from "./ranker.ts";
import { tagVoice } from "./tag.ts";
import type { Asked } from "./voice.ts";

export { type FusionOptions, fusionDefaults, fusionOptions } from "./fusion/options.ts";

/** What a fusion is made of. */
export interface FusionParts extends FusionOptions {
  readonly keyword?: KeywordOptions | undefined;
  readonly embedding?: EmbeddingParts | undefined;
}

/** What is shown beside what fits is never called wholly irrelevant. */
const LEAST_RELEVANCE = 0.01;
/** What is so much less relevant than the best is not worth the tokens. */
const TAIL = 0.1;
const NEAREST = 3;

/** Reads queries over the tools it is given: what a fusion ranks by, before it is decided what fits. */
export interface FusionReader {
  update(server: string, tools: readonly Tool[]): void;
  read(query: string, server?: string): MaybePromise<readonly Candidate[]>;
  /** The words that a query and a tool share, whichever voice heard them. */
  ask(query: string): MaybePromise<Voiced>;
  readonly keeping: Keeping;
}

/** Makes the reader behind {@link fusionRanker}. */
export function fusionReader({
  keyword,
  embedding,
  weights,
  clauses = true,
}: FusionParts = {}): FusionReader {
  const index = createKeywordIndex();
  // In the order in which tools are taken in: that of tags knows names by the index of words.
  const voices = {
    keyword: keywordVoice(keyword, index),
    embedding: embeddingVoice(embedding),
    tag: tagVoice(index.names),
  };
  const counted = {
    keyword: weights?.keyword ?? fusionDefaults.weights.keyword,
    embedding: weights?.embedding ?? fusionDefaults.weights.embedding,
    tag: weights?.tag ?? fusionDefaults.weights.tag,
  };
  /** Meaning is waited for first: tools that go meanwhile must not be found by their words. */
  const askAll = (texts: readonly string[]): MaybePromise<readonly Voiced[]> => {
    const voiced = (byMeaning: readonly Asked[]): Voiced[] =>
      texts.map((text, at) => ({
        keyword: voices.keyword.ask(text),
        embedding: byMeaning[at] as Asked,
        tag: voices.tag.ask(text),
      }));
    const asked = texts.map((text) => voices.embedding.ask(text));
    const isReady = (all: readonly MaybePromise<Asked>[]): all is readonly Asked[] =>
      !all.some((one) => one instanceof Promise);
    return isReady(asked) ? voiced(asked) : Promise.all(asked).then(voiced);
  };
  return {
    keeping: keepingOf(Object.values(voices)),
    ask(query) {
      const first = (asked: readonly Voiced[]): Voiced => asked[0] as Voiced;
      const asked = askAll([query]);
      return asked instanceof Promise ? asked.then(first) : first(asked);
    },
    update(server, tools) {
      for (const voice of Object.values(voices)) voice.update(server, tools);
    },
    read(query, server) {
      const asked = askAll([query, ...(clauses ? clausesOf(query) : [])]);
      const readAll = ([whole, ...parts]: readonly Voiced[]): readonly Candidate[] =>
        whole ? read(whole, parts, counted, server) : [];
      return asked instanceof Promise ? asked.then(readAll) : readAll(asked);
    },
  };
}

/**
 * Ranks by words, meaning and tags together, and tells how likely each tool is the one that is meant. Where even
 * the best of them is not likely enough, nothing is found: ten wrong tools would cost an agent more than none.
 */
export function fusionRanker(parts: FusionParts = {}): Ranker {
  const reader = fusionReader(parts);
  const { gate = fusionDefaults.gate } = parts;
  return {
    name: "fusion",
    keeping: reader.keeping,
    update: reader.update,
    rank(query, { server, limit = 10, explain = false } = {}) {
      const explained = (hit: Hit, candidate: Candidate, asked: Voiced): Hit => ({
        ...hit,
        why: {
          shares: candidate.shares,
          terms: [...asked.keyword.terms(hit.tool), ...asked.embedding.terms(hit.tool)],
        },
      });
      const answer = (candidates: readonly Candidate[], asked?: Voiced): Ranking => {
        const [best] = candidates;
        if (!best || !passes(best.evidence(), gate))
          return { hits: [], nearest: candidates.slice(0, NEAREST).map(({ tool }) => tool) };
        const hits: Hit[] = [];
        let relevance = 1;
        for (const candidate of candidates) {
          if (hits.length >= limit) break;
          const evidence = candidate.evidence();
          const own = relevanceOf(evidence);
          if (!hasAny(evidence) || own < (hits[0]?.relevance ?? 0) * TAIL) continue;
          // The order is that of the scores, and no tool is more relevant than one before it.
          relevance = Math.min(relevance, Math.max(LEAST_RELEVANCE, own));
          const hit = { tool: candidate.tool, relevance };
          hits.push(asked ? explained(hit, candidate, asked) : hit);
        }
        return { hits, nearest: [] };
      };
      if (query.trim() === "") return { hits: [], nearest: [] };
      if (explain)
        // Asked first, so that nothing comes between the reading and the answer.
        return Promise.resolve(reader.ask(query)).then(async (asked) =>
          answer(await reader.read(query, server), asked),
        );
      const reading = reader.read(query, server);
      return reading instanceof Promise ? reading.then((one) => answer(one)) : answer(reading);
    },
  };
}

/**
 * Whether a tool is likely enough. One that the query names always is; and where its meaning is not known, words
 * are all there is, and what is reckoned from both would say too little.
 */
function passes(evidence: Evidence, gate: number): boolean {
  return evidence.named > 0 || !evidence.isCompared || relevanceOf(evidence) >= gate;
}

/** Whether a tool has anything of a query at all. */
function hasAny({ cosine, queryCoverage, named }: Evidence): boolean {
  return cosine > 0 || queryCoverage > 0 || named > 0;
}
