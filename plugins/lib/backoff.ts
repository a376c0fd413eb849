import { setTimeout as timer } from "node:timers/promises";
import * as v from "valibot";
import { cancelledBy, GatewayError } from "../../core/mod.ts";

/** How often and how late something is tried again. */
export interface RetryPolicy {
  /** How often, after the first try; 3 by default. */
  readonly maxRetries?: number;
  /** How long is waited before the first of them; 1,000 by default. */
  readonly initialDelayMs?: number;
  /** What no wait is longer than; 30,000 by default. */
  readonly maxDelayMs?: number;
  /** How much longer each wait is than the one before; 2 by default. */
  readonly backoffMultiplier?: number;
  /** By which part of itself a wait is longer or shorter, by chance; 0.1 by default. */
  readonly jitterFactor?: number;
}

const ms = v.pipe(
  v.number(),
  v.minValue(0, "a number of milliseconds, 0 or more"),
  v.maxValue(2 ** 31 - 1, "a number of milliseconds that a timer can hold"),
);

/** Checks a retry policy and holds its defaults. */
export const retryPolicySchema: v.GenericSchema<RetryPolicy, Required<RetryPolicy>> = v.strictObject({
  maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0, "a whole number, 0 or more")), 3),
  initialDelayMs: v.optional(ms, 1_000),
  maxDelayMs: v.optional(ms, 30_000),
  backoffMultiplier: v.optional(v.pipe(v.number(), v.minValue(1, "a number, 1 or more")), 2),
  jitterFactor: v.optional(
    v.pipe(v.number(), v.minValue(0, "a number from 0 to 1"), v.maxValue(1, "a number from 0 to 1")),
    0.1,
  ),
}) as v.GenericSchema<RetryPolicy, Required<RetryPolicy>>;

/** Waits; rejects as soon as the signal says so. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

/** What waiting is done with. */
export interface Waiting {
  readonly sleep: Sleep;
  /** From 0 to 1, for how much a wait differs from what is planned. */
  readonly random: () => number;
}

/** Waits for as long as it takes. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await timer(ms, undefined, signal ? { signal } : {});
  } catch (thrown) {
    throw signal?.aborted ? cancelledBy(signal) : thrown;
  }
}

/** How long is waited before a retry, the first of which is 0; nothing where the server wants more patience than there is. */
export function delayBefore(
  retry: number,
  error: GatewayError,
  policy: Required<RetryPolicy>,
  random: () => number = Math.random,
): number | undefined {
  const { initialDelayMs, maxDelayMs, backoffMultiplier, jitterFactor } = policy;
  const { retryAfterMs } = error.data;
  const asked = typeof retryAfterMs === "number" ? retryAfterMs : 0;
  if (asked > maxDelayMs) return undefined;
  const planned = Math.min(maxDelayMs, initialDelayMs * backoffMultiplier ** retry);
  const jittered = planned * (1 + jitterFactor * (2 * random() - 1));
  // Never before the server said, and never later than the policy allows.
  return Math.max(asked, Math.min(maxDelayMs, jittered));
}

/** What a {@link retried} work is given. */
export interface RetriedOptions {
  readonly policy: Required<RetryPolicy>;
  readonly waiting: Waiting;
  readonly mayRetry: (error: GatewayError) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Does work again while it fails in a way that may pass; the number of the attempt begins at 1. */
export async function retried<T>(
  work: (attempt: number) => Promise<T>,
  { policy, waiting, mayRetry, signal }: RetriedOptions,
): Promise<T> {
  for (let retry = 0; ; retry++) {
    try {
      return await work(retry + 1);
    } catch (thrown) {
      if (signal?.aborted) throw cancelledBy(signal);
      if (!GatewayError.is(thrown) || retry >= policy.maxRetries || !mayRetry(thrown)) throw thrown;
      const delay = delayBefore(retry, thrown, policy, waiting.random);
      if (delay === undefined) throw thrown;
      await waiting.sleep(delay, signal);
    }
  }
}
