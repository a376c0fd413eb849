import { type Cancellation, type GatewayError, getAbortReason } from "../../core/mod.ts";

/** Ends the wait of a caller that gives up. */
export interface Waiter {
  readonly signal?: AbortSignal | undefined;
  /** Used in place of `signal` on the path of a call, where creating a signal costs too much. */
  readonly cancellation?: Pick<Cancellation, "cancelled" | "onCancel" | "offCancel"> | undefined;
  /** Runs before the connection is opened for this caller; the returned function runs once it is open or has failed. */
  onConnecting?(): () => void;
  /** Runs just before the request is sent, and with `false` once it is known that it was not. */
  onSent?(isSent: boolean): void;
}

interface SlotOptions {
  /** Calls in flight at once; further ones wait in the order they came. */
  readonly count: () => number;
  /** Time without a call in flight after which `onIdle` runs. */
  readonly idleMs: () => number;
  /** Whether there is a connection that could be idle. */
  readonly isOpen: () => boolean;
  /** Whether the connection is kept open although no call is in flight. */
  readonly isNeeded: () => boolean;
  readonly onIdle: () => void;
}

/** Creates the slots of a connection. */
export function createSlots({ count, idleMs, isOpen, isNeeded, onIdle }: SlotOptions) {
  const waiting: (() => void)[] = [];
  let taken = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let idleSince = 0;

  const tryTake = (): boolean => {
    if (taken >= count()) return false;
    taken++;
    return true;
  };

  const rest = (): void => {
    if (taken > 0) return;
    idleSince = performance.now();
    if (!timer) arm(idleMs());
  };

  return {
    /** Takes a slot if one is free. */
    tryTake,
    /** Waits for a slot; a waiter that gives up leaves the queue. */
    take: (waiter: Waiter = {}) =>
      new Promise<void>((resolve, reject) => {
        if (tryTake()) return resolve();
        let unlisten: (() => void) | undefined;
        const enter = (): void => {
          unlisten?.();
          resolve();
        };
        waiting.push(enter);
        unlisten = listenForGiveUp(waiter, (reason) => {
          const index = waiting.indexOf(enter);
          if (index >= 0) waiting.splice(index, 1);
          reject(reason);
        });
      }),
    /** Hands the slot to the next in line; frees it if none waits. */
    release() {
      const next = waiting.shift();
      if (next) return next();
      taken--;
      rest();
    },
    /** Whether no call is in flight. */
    isFree: () => taken === 0,
    /** Starts the idle period, unless a call is in flight. */
    rest,
    /** Stops the idle timer: the connection is gone. */
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };

  /** A timer for each pause would cost every call two timers: the one that runs checks when the last pause began. */
  function arm(ms: number): void {
    if (!isOpen()) return;
    timer = setTimeout(check, ms);
    timer.unref?.();
  }

  function check(): void {
    timer = undefined;
    if (taken > 0 || isNeeded()) return;
    const left = Math.ceil(idleSince + idleMs() - performance.now());
    if (left > 0) arm(left);
    else onIdle();
  }
}

/** Waits for a promise until the waiter gives up; the work behind the promise goes on without it. */
export function waitUnlessGivenUp<T>(promise: Promise<T>, waiter: Waiter = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const unlisten = listenForGiveUp(waiter, reject);
    if (!unlisten) return promise.then(resolve, reject);
    promise.then(resolve, reject).finally(unlisten);
  });
}

/** Calls back once, immediately if the waiter has given up already. Returns a function that ends the listening. */
function listenForGiveUp(
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
  const onAbort = (): void => giveUp(getAbortReason(signal));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return () => signal.removeEventListener("abort", onAbort);
}
