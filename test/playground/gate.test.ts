import { describe, expect, test } from "vitest";
import type { MaybePromise } from "../../core/mod.ts";
import type { Ranker } from "../../core/services/search.ts";
import { readLabelledSet } from "../../playground/labelled/labelled-set.ts";
import type { LabelledQuery } from "../../playground/protocol.ts";
import { computeNdcg, computeRecall } from "../../plugins/lib/evaluation.ts";
import { embeddingRanker } from "../../plugins/search/embedding/ranker.ts";
import { fusionRanker } from "../../plugins/search/fusion/ranker.ts";
import { keywordRanker } from "../../plugins/search/keyword/ranker.ts";
import { simpleRanker } from "../../plugins/search/simple.ts";
import { take } from "../contracts/ranker.ts";

/** The scores of a ranker on the labelled set, in percent. */
interface Scores {
  readonly recall1: number;
  readonly recall5: number;
  readonly ndcg10: number;
  /** Recall at 5 of the queries that share no word with their tools. */
  readonly unshared5: number;
  /** How often it finds nothing where nothing is to be found, by kind of query. */
  readonly silentFar: number;
  readonly silentNear: number;
  readonly silentMissing: number;
}

/**
 * The scores that each ranker must reach: 2 points less than it did when its line was last written. A change that
 * makes search better raises the line; one that makes it worse is for a person to decide.
 */
const gates: readonly { name: string; make: () => MaybePromise<Ranker>; atLeast: Partial<Scores> }[] = [
  { name: "simple", make: simpleRanker, atLeast: { recall1: 30, recall5: 44, ndcg10: 41, unshared5: 5 } },
  { name: "keyword", make: keywordRanker, atLeast: { recall1: 41, recall5: 55, ndcg10: 52, unshared5: 2 } },
  {
    name: "embedding",
    make: embeddingRanker,
    atLeast: { recall1: 42, recall5: 55, unshared5: 15 },
  },
  { name: "fusion", make: fusionRanker, atLeast: { recall1: 50, recall5: 72, unshared5: 42, silentFar: 85 } },
];

const { tools, queries, nothing } = await readLabelledSet();

test.each(gates)("the ranker $name finds what it found before", async ({ make, atLeast }) => {
  const scores = await measureScores(await make());
  expect(shortfalls(scores, atLeast), `All of its scores: ${JSON.stringify(scores)}`).toEqual([]);
});

describe("the gate", () => {
  const find = (answer: (query: string) => readonly string[]): Ranker => ({
    name: "made-up",
    update() {},
    rank: (query) => ({
      hits: answer(query).flatMap((id) => {
        const tool = tools.find((each) => each.id === id);
        return tool ? [{ tool, relevance: 1 }] : [];
      }),
      nearest: [],
    }),
  });

  test("lets a ranker through that knows the labels, and measures it in full", async () => {
    const labels = new Map(queries.map(({ query, relevant }) => [query, relevant]));
    const scores = await measureScores(find((query) => labels.get(query) ?? []));
    // One hit alone cannot hold two or more relevant tools.
    expect(scores.recall1).toBeGreaterThan(80);
    expect(scores.recall1).toBeLessThan(100);
    expect({ ...scores, recall1: 100 }).toEqual({
      recall1: 100,
      recall5: 100,
      ndcg10: 100,
      unshared5: 100,
      silentFar: 100,
      silentNear: 100,
      silentMissing: 100,
    });
  });

  test("stops a ranker that finds nothing, and one that always finds something", async () => {
    const mute = await measureScores(find(() => []));
    expect(mute).toMatchObject({ recall5: 0, ndcg10: 0, unshared5: 0, silentFar: 100, silentMissing: 100 });
    const talkative = await measureScores(find(() => tools.slice(0, 10).map(({ id }) => id)));
    expect(talkative).toMatchObject({ silentFar: 0, silentNear: 0, silentMissing: 0 });
    expect(talkative.recall5).toBeLessThan(10);
    for (const { atLeast } of gates) expect(shortfalls(mute, atLeast)).not.toEqual([]);
    for (const { atLeast } of gates) expect(shortfalls(talkative, atLeast)).not.toEqual([]);
  });

  test("names each score that is too low", async () => {
    const scores = await measureScores(find(() => []));
    expect(shortfalls(scores, { recall1: 30, recall5: 0.1, silentFar: 100 })).toEqual([
      "recall1 is 0, below 30",
      "recall5 is 0, below 0.1",
    ]);
    expect(shortfalls(scores, { recall5: 0, silentFar: 100 })).toEqual([]);
  });
});

async function measureScores(ranker: Ranker): Promise<Scores> {
  take(ranker, tools);
  const answer = async ({ query }: LabelledQuery): Promise<string[]> =>
    (await ranker.rank(query, { limit: 10 })).hits.map(({ tool }) => tool.id);
  const found = await Promise.all(
    queries.map(async (asked) => ({
      ...asked,
      ranked: await answer(asked),
      wanted: new Set(asked.relevant),
    })),
  );
  const unshared = found.filter(({ kind }) => kind === "no-shared-word");
  const silent = async (kind: string): Promise<number> => {
    const answers = await Promise.all(nothing.filter((each) => each.kind === kind).map(answer));
    return points(answers.map(({ length }) => Number(length === 0)));
  };
  return {
    recall1: points(found.map(({ ranked, wanted }) => computeRecall(1, ranked, wanted))),
    recall5: points(found.map(({ ranked, wanted }) => computeRecall(5, ranked, wanted))),
    ndcg10: points(found.map(({ ranked, wanted }) => computeNdcg(10, ranked, wanted))),
    unshared5: points(unshared.map(({ ranked, wanted }) => computeRecall(5, ranked, wanted))),
    silentFar: await silent("far"),
    silentNear: await silent("near"),
    silentMissing: await silent("missing"),
  };
}

function points(shares: readonly number[]): number {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.round(1_000 * mean) / 10;
}

function shortfalls(scores: Scores, atLeast: Partial<Scores>): string[] {
  return Object.entries(atLeast).flatMap(([name, floor]) => {
    const score = scores[name as keyof Scores];
    return score < floor ? [`${name} is ${score}, below ${floor}`] : [];
  });
}
