/** Stops asking a server that does not answer. */
export interface Breaker {
  /** How long it is until the server may be asked; 0 where it may be now, and then whoever asks says how it went. */
  enter(): number;
  /** The server answered. */
  succeed(): void;
  /** How many failures were counted so far. */
  readonly counted: number;
  /**
   * It did not. What many fail with at once is one failure: whoever says how many were counted when they began is
   * counted only if there are no more now.
   */
  fail(since?: number): void;
  /** Nobody knows: the caller gave up, say. */
  leave(): void;
}

/** When a breaker opens, and for how long. */
export interface BreakerLimits {
  /** So many failures in a row. */
  readonly failures: number;
  readonly openMs: number;
}

/** Opens after some failures in a row; after a while one call is let through, and how it goes decides. */
export function createBreaker({ failures: limit, openMs }: BreakerLimits, now: () => number): Breaker {
  let failures = 0;
  let counted = 0;
  let openUntil = 0;
  let isProbing = false;

  return {
    enter() {
      if (failures < limit) return 0;
      const left = openUntil - now();
      if (left > 0) return Math.ceil(left);
      // One asks on behalf of all; the others wait for it as for a breaker that is open.
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
