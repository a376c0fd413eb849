import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { meanQuality, measureQuality, percentile } from "../../../plugins/lib/evaluation.ts";

describe("a ranking is judged as one computes by hand:", () => {
  test.each([
    ["the only one comes first", ["a", "b"], ["a"], [1, 1, 1, 1, 1]],
    ["the only one comes second", ["b", "a"], ["a"], [0, 1, 1, 1 / Math.log2(3), 1 / 2]],
    ["the only one comes sixth", ["b", "c", "d", "e", "f", "a"], ["a"], [0, 0, 1, 1 / Math.log2(7), 1 / 6]],
    ["the only one is not there", ["b", "c"], ["a"], [0, 0, 0, 0, 0]],
    ["nothing was found", [], ["a"], [0, 0, 0, 0, 0]],
    [
      "two of three, at the first and the third place",
      ["a", "x", "b"],
      ["a", "b", "c"],
      [1 / 3, 2 / 3, 2 / 3, 1.5 / (1 + 1 / Math.log2(3) + 0.5), 1],
    ],
    [
      "eleventh is too late for all but the reciprocal rank",
      [..."bcdefghijk", "a"],
      ["a"],
      [0, 0, 0, 0, 1 / 11],
    ],
    ["what is listed twice counts once", ["a", "a", "b"], ["a", "b"], [0.5, 1, 1, 1, 1]],
  ])("%s", (_what, ranked, relevant, [recall1, recall5, recall10, ndcg10, mrr]) => {
    const quality = measureQuality(ranked, relevant);
    expect(quality.recall1).toBeCloseTo(recall1 ?? 0, 12);
    expect(quality.recall5).toBeCloseTo(recall5 ?? 0, 12);
    expect(quality.recall10).toBeCloseTo(recall10 ?? 0, 12);
    expect(quality.ndcg10).toBeCloseTo(ndcg10 ?? 0, 12);
    expect(quality.mrr).toBeCloseTo(mrr ?? 0, 12);
  });
});

/** Computes nDCG in another way: from the gains of the ranks, with sums and a sorted copy. */
function plainly(ranked: readonly string[], relevant: readonly string[]): readonly number[] {
  const gains = ranked.map((id): number => (relevant.includes(id) ? 1 : 0));
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const discounted = (list: readonly number[]): number =>
    sum(list.slice(0, 10).map((gain, index) => gain * (Math.LN2 / Math.log(index + 2))));
  const ideal = [...ranked.map(() => 0), ...relevant.map(() => 1)].sort((a, b) => b - a);
  const first = gains.indexOf(1);
  return [
    ...[1, 5, 10].map((count) => sum(gains.slice(0, count)) / relevant.length),
    discounted(gains) / discounted(ideal),
    first === -1 ? 0 : 1 / (first + 1),
  ];
}

test("the metrics are those of a plain implementation, for any ranking", () => {
  const id = fc.integer({ min: 0, max: 25 }).map(String);
  const ids = fc.uniqueArray(id, { maxLength: 20 });
  fc.assert(
    fc.property(ids, fc.uniqueArray(id, { minLength: 1, maxLength: 15 }), (ranked, relevant) => {
      const { recall1, recall5, recall10, ndcg10, mrr } = measureQuality(ranked, relevant);
      const expected = plainly(ranked, relevant);
      [recall1, recall5, recall10, ndcg10, mrr].forEach((value, index) => {
        expect(value).toBeCloseTo(expected[index] ?? Number.NaN, 10);
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1 + 1e-12);
      });
    }),
  );
});

test("a ranking that has a wanted tool earlier is never judged worse", () => {
  const order = fc.shuffledSubarray([..."abcdefghijklmno"], { minLength: 15 });
  fc.assert(
    fc.property(order, fc.integer({ min: 1, max: 14 }), (ranked, at) => {
      const wanted = ranked[at] ?? "";
      const earlier = [...ranked.slice(0, at - 1), wanted, ranked[at - 1] ?? "", ...ranked.slice(at + 1)];
      const [before, after] = [measureQuality(ranked, [wanted]), measureQuality(earlier, [wanted])];
      for (const name of ["recall1", "recall5", "recall10", "ndcg10", "mrr"] as const)
        expect(after[name]).toBeGreaterThanOrEqual(before[name]);
    }),
  );
});

test("the mean is over queries, and nothing where there are none", () => {
  const mean = meanQuality([measureQuality(["a"], ["a"]), measureQuality(["b"], ["a"])]);
  expect(mean).toEqual({ recall1: 0.5, recall5: 0.5, recall10: 0.5, ndcg10: 0.5, mrr: 0.5 });
  expect(meanQuality([])).toEqual({ recall1: 0, recall5: 0, recall10: 0, ndcg10: 0, mrr: 0 });
});

test.each([
  [[], 0.5, 0],
  [[3], 0.5, 3],
  [[4, 1, 3, 2], 0.5, 2],
  [[4, 1, 3, 2], 0.95, 4],
  [[4, 1, 3, 2], 1, 4],
])("of %j, %d is not above %d", (values, share, expected) => {
  expect(percentile(values, share)).toBe(expected);
});
