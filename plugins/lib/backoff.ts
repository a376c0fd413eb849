import { setTimeout as timer } from "node:timers/promises";
import * as v from "valibot";
import { GatewayError, getAbortReason } from "../../core/mod.ts";
import { milliseconds, option, wholeNumber } from "./options.ts";

const ms = milliseconds(0);

/** Schema of a retry policy, with its defaults. */
export const retryPolicySchema = v.strictObject({
  maxRetries: option(wholeNumber(0), "Retries after the first attempt.", 3),
  initialDelayMs: option(ms, "Milliseconds before the first retry.", 1_000),
  maxDelayMs: option(ms, "Longest delay in milliseconds.", 30_000),
  backoffMultiplier: option(
    v.pipe(v.number(), v.minValue(1, "a number, 1 or more")),
    "Factor by which each delay is longer than the one before.",
    2,
  ),
  jitterFactor: option(
    v.pipe(v.number(), v.minValue(0, "a number from 0 to 1"), v.maxValue(1, "a number from 0 to 1")),
    "Share of a delay by which it is longer or shorter at random.",
    0.1,
  ),
});

/** Limits and delays of retries. */
export type RetryPolicy = v.InferInput<typeof retryPolicySchema>;
/** Retry policy with its defaults. */
type RetrySettings = v.InferOutput<typeof retryPolicySchema>;

/** Waits; rejects with the reason of the signal as soon as it is aborted. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Timer and randomness of retries. */
export interface RetryTiming {
  readonly sleep: Sleep;
  /** Returns a number from 0 to 1, for the jitter. */
  readonly random?: () => number;
}

/** Waits; rejects with the reason of the signal as soon as it is aborted. With `ref: false` the process may end meanwhile. */
export async function sleep(ms: number, signal?: AbortSignal, ref = true): Promise<void> {
  try {
    await timer(ms, undefined, signal ? { signal, ref } : { ref });
  } catch (thrown) {
    throw signal?.aborted ? getAbortReason(signal) : thrown;
  }
}

/** Waits until work is done or failed, the time is over, or the signal is aborted. Rejects only if the work fails first. */
export async function waitAtMost(
  work: Promise<unknown> | undefined,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const stopped = AbortSignal.any(signal ? [signal, stop.signal] : [stop.signal]);
  try {
    await Promise.race([work, timer(ms, undefined, { signal: stopped }).catch(() => {})]);
  } finally {
    stop.abort();
  }
}

/** Growth and jitter of the delays between retries. */
export interface Backoff extends Pick<RetrySettings, "initialDelayMs" | "maxDelayMs"> {
  readonly backoffMultiplier?: number;
  readonly jitterFactor?: number;
  /** Bounds of the random factor, in place of those that `jitterFactor` gives. */
  readonly jitter?: readonly [number, number];
}

/** Returns the delay before a retry, counted from 0. Jitter keeps what failed together from coming back together. */
export function backoffDelay(retry: number, backoff: Backoff, random: () => number = Math.random): number {
  const { initialDelayMs, maxDelayMs, backoffMultiplier = 2, jitterFactor = 0 } = backoff;
  const [least, most] = backoff.jitter ?? [1 - jitterFactor, 1 + jitterFactor];
  return (
    Math.min(maxDelayMs, initialDelayMs * backoffMultiplier ** retry) * (least + (most - least) * random())
  );
}

/** Like {@link backoffDelay}, and no shorter than the server asks for; undefined if it asks for more than the maximum. */
export function nextBackoffDelay(
  retry: number,
  thrown: unknown,
  backoff: Backoff,
  random?: () => number,
): number | undefined {
  const { retryAfterMs, retry_after: seconds } = GatewayError.is(thrown) ? thrown.data : {};
  const asked = typeof retryAfterMs === "number" ? retryAfterMs : Number(seconds ?? 0) * 1000;
  if (asked > backoff.maxDelayMs) return undefined;
  return Math.max(asked, Math.min(backoff.maxDelayMs, backoffDelay(retry, backoff, random)));
}

/** Returns the delay before a client of Redis connects again. */
export function redisRetryDelay(times: number): number {
  return backoffDelay(times, { initialDelayMs: 50, maxDelayMs: 1_000 });
}

/** Options of {@link retryWork}. */
export interface RetryWorkOptions {
  readonly policy: Backoff & { readonly maxRetries: number };
  readonly waiting: RetryTiming;
  readonly mayRetry: (error: GatewayError) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Repeats work while it fails with an error that may be temporary. Attempts are counted from 1. */
export async function retryWork<T>(
  work: (attempt: number) => Promise<T>,
  { policy, waiting, mayRetry, signal }: RetryWorkOptions,
): Promise<T> {
  for (let retry = 0; ; retry++) {
    try {
      return await work(retry + 1);
    } catch (thrown) {
      if (signal?.aborted) throw getAbortReason(signal);
      if (!GatewayError.is(thrown) || retry >= policy.maxRetries || !mayRetry(thrown)) throw thrown;
      const delay = nextBackoffDelay(retry, thrown, policy, waiting.random);
      if (delay === undefined) throw thrown;
      await waiting.sleep(delay, signal);
    }
  }
}
