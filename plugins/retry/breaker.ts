/** Stops calls to a server that does not answer. */
export interface Breaker {
  /** Returns the milliseconds until a call is allowed. After 0, the caller reports how the call went. */
  enter(): number;
  /** Reports that the server answered. */
  succeed(): void;
  /** Number of failures counted so far. */
  readonly counted: number;
  /**
   * Reports that the server did not answer. Calls that fail together are one failure: with `since`, the value of
   * `counted` when the call began, the failure counts only if no other was counted in between.
   */
  fail(since?: number): void;
  /** Reports a call that tells nothing about the server: the caller gave up, for example. */
  leave(): void;
}

/** Creates a breaker that opens after `limit` failures in a row. After `openMs` one call is let through and decides. */
export function createBreaker(
  { failures: limit, openMs }: { readonly failures: number; readonly openMs: number },
  now: () => number,
): Breaker {
  let failures = 0;
  let counted = 0;
  let openUntil = 0;
  let isProbing = false;

  return {
    enter() {
      if (failures < limit) return 0;
      const left = openUntil - now();
      if (left > 0) return Math.ceil(left);
      // One call probes for all; to the others the breaker is still open.
      if (isProbing) return openMs;
      isProbing = true;
      return 0;
    },
    succeed() {
      failures = 0;
      isProbing = false;
    },
    get counted() {
      return counted;
    },
    fail(since = counted) {
      isProbing = false;
      if (since < counted) return;
      counted++;
      failures = Math.min(failures + 1, limit);
      if (failures >= limit) openUntil = now() + openMs;
    },
    leave() {
      isProbing = false;
    },
  };
}

/** Limits retries to a share of the calls. */
export interface RetryBudget {
  /** Counts a call. */
  call(): void;
  /** Counts a retry, and returns true, if the budget has room for it. */
  retry(): boolean;
}

const WINDOW_MS = 60_000;

/** Creates a budget of a share of each minute's calls, and at least one: few calls must not mean no retry at all. */
export function createRetryBudget(share: number, now: () => number): RetryBudget {
  let began = Number.NEGATIVE_INFINITY;
  let calls = 0;
  let retries = 0;
  const startWindow = (): void => {
    if (now() - began < WINDOW_MS) return;
    began = now();
    calls = 0;
    retries = 0;
  };
  return {
    call() {
      startWindow();
      calls++;
    },
    retry() {
      startWindow();
      if (retries + 1 > Math.max(1, calls * share)) return false;
      retries++;
      return true;
    },
  };
}
