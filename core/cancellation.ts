import { GatewayError } from "./errors.ts";

/**
 * Something that may be given up before it is done: what an `AbortController` is for, at a tenth of its cost. The signal
 * is there for whatever takes one, and made when it is first looked at.
 */
export class Cancellation {
  #reason: GatewayError | undefined;
  #listeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;

  /** Why it was given up, if it was. */
  get cancelled(): GatewayError | undefined {
    return this.#reason;
  }

  /** Aborted when it is given up. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Gives it up; the first reason counts. */
  cancel(reason: GatewayError = givenUp()): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
  }

  /** Calls back once when it is given up. */
  onCancel(listener: () => void): void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  /** No longer does so. */
  offCancel(listener: () => void): void {
    const place = this.#listeners?.lastIndexOf(listener) ?? -1;
    if (place >= 0) this.#listeners?.splice(place, 1);
  }
}

/** Why an aborted signal was aborted: the `GatewayError` it was aborted with, or else that its owner gave up. */
export function cancelledBy(signal: AbortSignal): GatewayError {
  const { reason } = signal;
  return GatewayError.is(reason) ? reason : givenUp(reason);
}

/** Makes a cancellation of a signal. `stop` lets go of the signal, which may live for long. */
export function followSignal(signal: AbortSignal | undefined): {
  readonly cancellation: Cancellation;
  stop(): void;
} {
  const cancellation = new Cancellation();
  const onAbort = (): void => {
    if (signal) cancellation.cancel(cancelledBy(signal));
  };
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  return { cancellation, stop: () => signal?.removeEventListener("abort", onAbort) };
}

function givenUp(cause?: unknown): GatewayError {
  return new GatewayError("CANCELLED", "The caller cancelled the call.", { cause });
}
