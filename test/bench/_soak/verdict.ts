/** Counts at one moment, without pending calls. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

/** A value that must not grow, and its tolerance. */
export interface Bound {
  readonly name: string;
  /** So much more at the end than after the warm-up, or a share of what was there. */
  readonly allowed: number;
  readonly share?: number;
}

/** How one value went. */
export interface Trend {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  /** The growth from the end of the warm-up to the end, by the slope of all samples between. */
  readonly growth: number;
  readonly perHour: number;
  readonly allowed: number;
  readonly isFine: boolean;
}

/** The part of a run whose samples do not count: caches fill up, and code is compiled. */
export const WARM_UP = 0.3;

/** How every value went once the warm-up was over. */
export function findTrends(samples: readonly Sample[], bounds: readonly Bound[]): Trend[] {
  const end = samples.at(-1)?.at ?? 0;
  const counted = samples.filter(({ at }) => at >= end * WARM_UP);
  return bounds.map(({ name, allowed, share = 0 }) => {
    const points = counted.map(({ at, values }) => ({ at, value: values[name] ?? Number.NaN }));
    const [first = Number.NaN, last = Number.NaN] = [points[0]?.value, points.at(-1)?.value];
    const slope = fitSlope(points);
    const growth = slope * (end - (points[0]?.at ?? 0));
    const limit = Math.max(allowed, share * first);
    // A value that could not be counted fails.
    return { name, first, last, growth, perHour: slope * 3_600, allowed: limit, isFine: growth <= limit };
  });
}

interface Point {
  readonly at: number;
  readonly value: number;
}

/** The median of the slopes between all pairs: a sample that fell into a bad moment does not tilt it. */
export function fitSlope(points: readonly Point[]): number {
  const slopes = points.flatMap((from, index) =>
    points.slice(index + 1).map((to) => (to.value - from.value) / (to.at - from.at)),
  );
  const sorted = slopes.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}
