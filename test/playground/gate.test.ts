import { describe, expect, test } from "vitest";
import type { MaybePromise } from "../../core/mod.ts";
import type { Ranker } from "../../core/services/search.ts";
import { readLabelledSet } from "../../playground/labelled/labelled-set.ts";
import type { LabelledQuery } from "../../playground/protocol.ts";
import { ndcgAt, recallAt } from "../../plugins/lib/evaluation.ts";
import { embeddingRanker } from "../../plugins/search/embedding/ranker.ts";
import { fusionRanker } from "../../plugins/search/fusion/ranker.ts";
import { keywordRanker } from "../../plugins/search/keyword/ranker.ts";
import { simpleRanker } from "../../plugins/search/simple.ts";
import { take } from "../contracts/ranker.ts";

/** What a ranker reaches on the labelled set, in points of 100. */
interface Figures {
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
 * What each ranker must reach: 2 points less than it did when its line was last written. A change that
 * makes search better raises the line; one that makes it worse is for a person to decide.
 */
const gates: readonly { name: string; make: () => MaybePromise<Ranker>; atLeast: Partial<Figures> }[] = [
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
  const figures = await figuresOf(await make());
  expect(shortfalls(figures, atLeast), `All of its figures: ${JSON.stringify(figures)}`).toEqual([]);
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
    const figures = await figuresOf(find((query) => labels.get(query) ?? []));
    // Where two or more tools are relevant, one alone cannot be all of them.
    expect(figures.recall1).toBeGreaterThan(80);
    expect(figures.recall1).toBeLessThan(100);
    expect({ ...figures, recall1: 100 }).toEqual({
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
    const mute = await figuresOf(find(() => []));
    expect(mute).toMatchObject({ recall5: 0, ndcg10: 0, unshared5: 0, silentFar: 100, silentMissing: 100 });
    const talkative = await figuresOf(find(() => tools.slice(0, 10).map(({ id }) => id)));
    expect(talkative).toMatchObject({ silentFar: 0, silentNear: 0, silentMissing: 0 });
    expect(talkative.recall5).toBeLessThan(10);
    for (const { atLeast } of gates) expect(shortfalls(mute, atLeast)).not.toEqual([]);
    for (const { atLeast } of gates) expect(shortfalls(talkative, atLeast)).not.toEqual([]);
  });

  test("names each figure that is too low", async () => {
    const figures = await figuresOf(find(() => []));
    expect(shortfalls(figures, { recall1: 30, recall5: 0.1, silentFar: 100 })).toEqual([
      "recall1 is 0, below 30",
      "recall5 is 0, below 0.1",
    ]);
    expect(shortfalls(figures, { recall5: 0, silentFar: 100 })).toEqual([]);
  });
});

async function figuresOf(ranker: Ranker): Promise<Figures> {
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
    recall1: points(found.map(({ ranked, wanted }) => recallAt(1, ranked, wanted))),
    recall5: points(found.map(({ ranked, wanted }) => recallAt(5, ranked, wanted))),
    ndcg10: points(found.map(({ ranked, wanted }) => ndcgAt(10, ranked, wanted))),
    unshared5: points(unshared.map(({ ranked, wanted }) => recallAt(5, ranked, wanted))),
    silentFar: await silent("far"),
    silentNear: await silent("near"),
    silentMissing: await silent("missing"),
  };
}

function points(shares: readonly number[]): number {
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  return Math.round(1_000 * mean) / 10;
}

function shortfalls(figures: Figures, atLeast: Partial<Figures>): string[] {
  return Object.entries(atLeast).flatMap(([name, floor]) => {
    const figure = figures[name as keyof Figures];
    return figure < floor ? [`${name} is ${figure}, below ${floor}`] : [];
  });
}
