import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { describeGrowth } from "../bench/_soak/report.ts";
import { findTrends, fitSlope, type Sample } from "../bench/_soak/verdict.ts";

/** A run of a hundred seconds, by what is held at each of them. */
function createRun(heldAt: (second: number) => number): Sample[] {
  return Array.from({ length: 101 }, (_, at) => ({ at, values: { heap: heldAt(at) } }));
}

const bound = { name: "heap", allowed: 5 };

describe("the verdict on a value", () => {
  test("that fills up in the warm-up and then stays is fine", () => {
    const [trend] = findTrends(
      createRun((second) => Math.min(second, 25) * 2),
      [bound],
    );
    expect(trend).toMatchObject({ first: 50, last: 50, growth: 0, isFine: true });
  });

  test("that grows and grows is not, and the reason is told", () => {
    const trends = findTrends(
      createRun((second) => 30 + second / 10),
      [bound],
    );
    expect(trends[0]?.growth).toBeCloseTo(7);
    expect(trends[0]?.perHour).toBeCloseTo(360);
    expect(describeGrowth("http", trends)).toEqual(["http: heap grew by 7.0, and 5.0 is allowed"]);
  });

  test("that grows by less than its limit is fine", () => {
    const run = createRun((second) => 100 + second / 10);
    expect(findTrends(run, [{ ...bound, share: 0.1 }])[0]?.isFine).toBe(true);
  });

  test("that could not be counted is not", () => {
    for (const samples of [[], [{ at: 1, values: {} }], createRun(() => Number.NaN)])
      expect(findTrends(samples, [bound])[0]?.isFine).toBe(false);
  });

  test("does not change by a few bad moments", () => {
    const moment = fc.tuple(fc.integer({ min: 31, max: 100 }), fc.integer({ min: -500, max: 500 }));
    fc.assert(
      fc.property(fc.uniqueArray(moment, { maxLength: 7, selector: ([at]) => at }), (moments) => {
        const noise = new Map(moments);
        const run = createRun((second) => 40 + second / 50 + (noise.get(second) ?? 0));
        expect(findTrends(run, [bound])[0]?.growth).toBeLessThan(5);
        const leaking = createRun((second) => 40 + second / 5 + (noise.get(second) ?? 0));
        expect(findTrends(leaking, [bound])[0]?.isFine).toBe(false);
      }),
    );
  });

  test("is the slope of a line where it is one", () => {
    fc.assert(
      fc.property(fc.integer({ min: -9, max: 9 }), fc.integer(), (slope, start) => {
        const points = [0, 1, 5, 7].map((at) => ({ at, value: start + slope * at }));
        expect(fitSlope(points)).toBeCloseTo(slope);
      }),
    );
  });
});
