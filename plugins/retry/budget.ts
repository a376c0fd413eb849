/** Keeps retries to a share of the calls. */
export interface RetryBudget {
  /** Counts a call. */
  call(): void;
  /** Whether there is room for a retry, which is then counted. */
  retry(): boolean;
}

const WINDOW_MS = 60_000;

/** In each minute, a share of its calls may be tried again, and always one: few calls must not mean no retry at all. */
export function retryBudget(share: number, now: () => number): RetryBudget {
  let began = Number.NEGATIVE_INFINITY;
  let calls = 0;
  let retries = 0;
  const look = (): void => {
    if (now() - began < WINDOW_MS) return;
    began = now();
    calls = 0;
    retries = 0;
  };
  return {
    call() {
      look();
      calls++;
    },
    retry() {
      look();
      if (retries + 1 > Math.max(1, calls * share)) return false;
      retries++;
      return true;
    },
  };
}
