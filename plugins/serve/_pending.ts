import { cancelledBy, type GatewayError, type JsonObject } from "../../core/mod.ts";

/** An answer that somebody waits for. */
export interface Pending {
  readonly answer: Promise<JsonObject>;
  resolve(answer: JsonObject): void;
  reject(error: GatewayError): void;
}

/** What ends the waiting for an answer. */
export interface PendingOptions {
  readonly signals: readonly (AbortSignal | undefined)[];
  /** Called once, when there is nothing to be waited for any more; with a signal where that is why. */
  readonly onEnd: (endedBy?: AbortSignal) => void;
}

/** Waits for an answer until it is there, or one of the signals says that it will not come. */
export function createPending({ signals, onEnd }: PendingOptions): Pending {
  let resolve: (answer: JsonObject) => void = () => {};
  let reject: (error: GatewayError) => void = () => {};
  let isOver = false;
  const answer = new Promise<JsonObject>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  const watched = signals.filter((signal) => signal !== undefined);
  const onAbort = ({ target }: { readonly target: unknown }): void => stop(target as AbortSignal);
  const over = (endedBy?: AbortSignal): boolean => {
    if (isOver) return false;
    isOver = true;
    for (const signal of watched) signal.removeEventListener("abort", onAbort);
    onEnd(endedBy);
    return true;
  };
  const stop = (signal: AbortSignal): void => {
    if (over(signal)) reject(cancelledBy(signal));
  };
  for (const signal of watched) signal.addEventListener("abort", onAbort);
  return {
    answer,
    resolve: (value) => void (over() && resolve(value)),
    reject: (error) => void (over() && reject(error)),
  };
}
