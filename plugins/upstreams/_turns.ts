import { type Cancellation, cancelledBy, type GatewayError } from "../../core/mod.ts";

/** What may end the waiting. */
export interface Waiter {
  readonly signal?: AbortSignal | undefined;
  /** The same, for whom making a signal would cost too much. */
  readonly cancellation?: Pick<Cancellation, "cancelled" | "onCancel" | "offCancel"> | undefined;
}

/** So many at once, and the others in the order they came. */
export interface Turns {
  /** How many are taken now. */
  readonly taken: number;
  /** Takes a turn where one is free. */
  tryTake(): boolean;
  /** Waits for a turn; whoever gives up leaves the queue. */
  take(waiter?: Waiter): Promise<void>;
  /** Hands the turn to the next in line; only if there is none, it is free. */
  give(): void;
}

/** Makes so many turns. */
export function createTurns(count: number): Turns {
  const waiting: (() => void)[] = [];
  let taken = 0;

  const tryTake = (): boolean => {
    if (taken >= count) return false;
    taken++;
    return true;
  };

  return {
    get taken() {
      return taken;
    },
    tryTake,
    give() {
      const next = waiting.shift();
      if (next) next();
      else taken--;
    },
    take: (waiter = {}) =>
      new Promise((resolve, reject) => {
        if (tryTake()) return resolve();
        let unlisten: (() => void) | undefined;
        const enter = (): void => {
          unlisten?.();
          resolve();
        };
        waiting.push(enter);
        unlisten = whenGivenUp(waiter, (reason) => {
          const place = waiting.indexOf(enter);
          if (place >= 0) waiting.splice(place, 1);
          reject(reason);
        });
      }),
  };
}

/** Waits for something, but not longer than until whoever waits gives up; then it goes on without them. */
export function untilGivenUp<T>(promise: Promise<T>, waiter: Waiter = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = whenGivenUp(waiter, reject);
    if (!unlisten) return promise.then(resolve, reject);
    promise.then(resolve, reject).finally(unlisten);
  });
}

/** Calls back once; at once where they have already. Returns what ends the listening, where there is any. */
function whenGivenUp(
  { signal, cancellation }: Waiter,
  giveUp: (reason: GatewayError) => void,
): (() => void) | undefined {
  if (cancellation) {
    const onCancel = (): void => giveUp(cancellation.cancelled as GatewayError);
    if (cancellation.cancelled) onCancel();
    cancellation.onCancel(onCancel);
    return () => cancellation.offCancel(onCancel);
  }
  if (!signal) return undefined;
  const onAbort = (): void => giveUp(cancelledBy(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}
