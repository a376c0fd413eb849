import type { RateBucket, RateLimit, RateLimiter, Taken } from "../../core/services/state.ts";

export type { RateBucket, RateLimit, RateLimiter, Taken } from "../../core/services/state.ts";

/** What the generic cell rate algorithm makes of one bucket: a time in the future up to which it is taken. */
export interface Arrival {
  /** The time up to which it would be taken. */
  readonly until: number;
  readonly waitMs: number;
}

/** Whether a bucket that is taken up to a time has room for more. */
export function arrive(taken: number | undefined, now: number, bucket: RateLimit, cost: number): Arrival {
  const each = bucket.perMs / bucket.limit;
  const whole = each * (bucket.burst ?? bucket.limit);
  // Further in the future than ever possible means that somebody has set the clock back: it begins anew.
  const from = taken === undefined || taken > now + whole + 1 ? now : Math.max(taken, now);
  const until = from + each * cost;
  const waitMs = until - now - whole;
  // Sums of large and small numbers are off by a little: a bucket that is just full must not look overfull.
  return { until, waitMs: waitMs < 0.001 ? 0 : waitMs };
}

/** The answer for buckets that were looked at together. */
export function verdictOf(
  looked: readonly { readonly bucket: RateBucket; readonly waitMs: number }[],
): Taken {
  let worst: { readonly bucket: RateBucket; readonly waitMs: number } | undefined;
  for (const each of looked) if (each.waitMs > (worst?.waitMs ?? 0)) worst = each;
  if (!worst) return { ok: true, retryAfterMs: 0 };
  return { ok: false, retryAfterMs: Math.ceil(worst.waitMs), bucket: worst.bucket.name };
}

/** More names than this are counted only where many actors come by; then those that are free again are forgotten. */
const MANY = 10_000;

/** Counts in memory, on a clock that nobody can set. */
export function memoryLimiter(now: () => number = () => performance.now()): RateLimiter {
  const taken = new Map<string, number>();
  return {
    take(buckets, cost = 1) {
      const at = now();
      const looked = buckets.map((bucket) => ({
        bucket,
        ...arrive(taken.get(bucket.name), at, bucket, cost),
      }));
      const verdict = verdictOf(looked);
      if (!verdict.ok) return verdict;
      for (const { bucket, until } of looked) taken.set(bucket.name, until);
      if (taken.size > MANY) for (const [name, until] of taken) if (until <= at) taken.delete(name);
      return verdict;
    },
  };
}
