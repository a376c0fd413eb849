import { left } from "./_asking.ts";
import type { Id } from "./_handler.ts";

/** A request on its way. */
export interface Underway {
  readonly id: Id;
  readonly abort: AbortController;
  /** Whether it has come to something that may do more than read. */
  hasEffects: boolean;
  /** Whether it is answered, or nobody waits for its answer any more. */
  readonly isGone: boolean;
  /** Aborted then, with what to say to whoever would still ask its client something. */
  readonly gone: AbortSignal;
  /** Called then, for whom a signal would cost too much. */
  onLeave: (() => void) | undefined;
  leave(): void;
}

/** A request that has just come. */
export function createUnderway(id: Id): Underway {
  // Made on first use: few requests ask anything.
  let gone: AbortController | undefined;
  let isGone = false;
  return {
    id,
    abort: new AbortController(),
    hasEffects: false,
    get isGone() {
      return isGone;
    },
    get gone() {
      gone ??= new AbortController();
      if (isGone && !gone.signal.aborted) gone.abort(left());
      return gone.signal;
    },
    onLeave: undefined,
    leave() {
      isGone = true;
      this.onLeave?.();
      if (gone && !gone.signal.aborted) gone.abort(left());
    },
  };
}
