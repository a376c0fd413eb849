import type { RateBucket, RateLimit, RateLimiter, Taken } from "../../core/services/state.ts";
import { type Sleep, sleep } from "./backoff.ts";

export type { RateBucket, RateLimit, RateLimiter, Taken } from "../../core/services/state.ts";

/**
 * Runs the generic cell rate algorithm for one bucket: `taken` and `until` are times in the future up to which the bucket
 * is used, before and after these requests.
 */
export function arrive(
  taken: number | undefined,
  now: number,
  bucket: RateLimit,
  cost: number,
): { readonly until: number; readonly waitMs: number } {
  const each = bucket.perMs / bucket.limit;
  const whole = each * (bucket.burst ?? bucket.limit);
  // A time further in the future than possible means that the clock was set back: the bucket begins anew.
  const from = taken === undefined || taken > now + whole + 1 ? now : Math.max(taken, now);
  const until = from + each * cost;
  const waitMs = until - now - whole;
  // Sums of large and small numbers are off by a little: a bucket that is just full must not look overfull.
  return { until, waitMs: waitMs < 0.001 ? 0 : waitMs };
}

/** Joins the results of buckets that are taken together: the longest wait counts. */
export function toVerdict(
  looked: readonly { readonly bucket: RateBucket; readonly waitMs: number }[],
): Taken {
  let worst: { readonly bucket: RateBucket; readonly waitMs: number } | undefined;
  for (const each of looked) if (each.waitMs > (worst?.waitMs ?? 0)) worst = each;
  if (!worst) return { ok: true, retryAfterMs: 0 };
  return { ok: false, retryAfterMs: Math.ceil(worst.waitMs), bucket: worst.bucket.name };
}

/** Waits until a bucket has room for a request, and takes it. */
export async function takeTurn(
  limiter: RateLimiter,
  bucket: RateBucket,
  signal?: AbortSignal,
  wait: Sleep = sleep,
): Promise<void> {
  for (;;) {
    const { ok, retryAfterMs } = await limiter.take([bucket]);
    if (ok) return;
    await wait(retryAfterMs, signal);
  }
}

/** Above this number of names, the free ones are removed: only many actors lead to it. */
const MANY = 10_000;

/** Creates a rate limiter in memory, on a clock that cannot be set. */
export function memoryLimiter(now: () => number = () => performance.now()): RateLimiter {
  const taken = new Map<string, number>();
  return {
    take(buckets, cost = 1) {
      const at = now();
      const looked = buckets.map((bucket) => ({
        bucket,
        ...arrive(taken.get(bucket.name), at, bucket, cost),
      }));
      const verdict = toVerdict(looked);
      if (!verdict.ok) return verdict;
      for (const { bucket, until } of looked) taken.set(bucket.name, until);
      if (taken.size > MANY) for (const [name, until] of taken) if (until <= at) taken.delete(name);
      return verdict;
    },
  };
}
