import fc from "fast-check";
import { expect, test } from "vitest";
import { createTimeline } from "../../../plugins/dashboard/timeline.ts";

test("calls are counted in steps of ten seconds, and what is older than half an hour is gone", () => {
  let now = 1_000_000_000;
  const timeline = createTimeline(() => now);
  timeline.add(5, false);
  timeline.add(5, true);
  now += 10_000;
  timeline.add(100, false);
  const { stepMs, from, calls, errors, p50 } = timeline.series();
  expect([calls.length * stepMs, from + calls.length * stepMs - now]).toEqual([1_800_000, stepMs]);
  expect(calls.slice(-3)).toEqual([0, 2, 1]);
  expect(errors.slice(-3)).toEqual([0, 1, 0]);
  expect(p50.at(-3)).toBeNull();
  now += 1_800_000;
  expect(timeline.series().calls.every((count) => count === 0)).toBe(true);
  timeline.add(1, false);
  expect(timeline.series().calls.at(-1)).toBe(1);
});

test("a clock that is set back loses nothing and breaks nothing", () => {
  let now = 1_000_000_000;
  const timeline = createTimeline(() => now);
  timeline.add(1, false);
  now -= 3_600_000;
  timeline.add(1, false);
  now += 3_600_000;
  expect(timeline.series().calls.at(-1)).toBe(2);
});

test("a quantile is never told too low, and by no more than a fifth too high", () => {
  const duration = fc.double({ min: 0.1, max: 100_000, noNaN: true });
  fc.assert(
    fc.property(fc.array(duration, { minLength: 1, maxLength: 100 }), (durations) => {
      const timeline = createTimeline(() => 0);
      for (const ms of durations) timeline.add(ms, false);
      const sorted = durations.toSorted((a, b) => a - b);
      const { p50, p95 } = timeline.series();
      for (const [share, told] of [
        [0.5, p50.at(-1)],
        [0.95, p95.at(-1)],
      ] as const) {
        const real = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
        expect(told).toBeGreaterThanOrEqual(real * 0.999999);
        expect(told).toBeLessThanOrEqual(real * 1.2);
      }
    }),
  );
});
