import { cancelledBy } from "../../core/mod.ts";

/** So many at once, and the others in the order they came. */
export interface Turns {
  /** How many are taken now. */
  readonly taken: number;
  /** Takes a turn where one is free. */
  tryTake(): boolean;
  /** Waits for a turn; whoever gives up leaves the queue. */
  take(signal: AbortSignal | undefined): Promise<void>;
  /** Hands the turn to the next in line; only if there is none, it is free. */
  give(): void;
}

/** Makes so many turns. */
export function createTurns(count: number): Turns {
  const waiting: (() => void)[] = [];
  let taken = 0;

  const give = (): void => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };

  const tryTake = (): boolean => {
    if (taken >= count) return false;
    taken++;
    return true;
  };

  return {
    get taken() {
      return taken;
    },
    give,
    tryTake,
    async take(signal) {
      if (tryTake()) return;
      let enter: () => void = () => {};
      const turn = new Promise<void>((resolve) => {
        enter = resolve;
        waiting.push(resolve);
      });
      try {
        await untilAborted(turn, signal);
      } catch (thrown) {
        const place = waiting.indexOf(enter);
        if (place >= 0) waiting.splice(place, 1);
        else give();
        throw thrown;
      }
    },
  };
}

/** Waits for something, but not longer than until the signal is aborted; then it goes on without us. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(cancelledBy(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
