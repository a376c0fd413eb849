import { GatewayError } from "./errors.ts";

/**
 * Cancellation of an operation: an `AbortController` at a tenth of its cost. Its signal is created when it is first read.
 */
export class Cancellation {
  #reason: GatewayError | undefined;
  #listeners: (() => void)[] | undefined;
  #controller: AbortController | undefined;

  /** Reason of the cancellation, once cancelled. */
  get cancelled(): GatewayError | undefined {
    return this.#reason;
  }

  /** Aborts on cancellation. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Cancels the operation; the first reason counts. */
  cancel(reason: GatewayError = createCancelError()): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener();
  }

  /** Adds a listener that is called once, on cancellation. */
  onCancel(listener: () => void): void {
    // A literal has room for one, which most have; what is pushed into an empty array makes room for 17.
    if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  /** Removes a listener. */
  offCancel(listener: () => void): void {
    const index = this.#listeners?.lastIndexOf(listener) ?? -1;
    if (index >= 0) this.#listeners?.splice(index, 1);
  }
}

/** Returns the reason of an aborted signal as a `GatewayError`; `CANCELLED` for any other reason. */
export function getAbortReason(signal: AbortSignal): GatewayError {
  const { reason } = signal;
  return GatewayError.is(reason) ? reason : createCancelError(reason);
}

/** Creates a cancellation that follows a signal. `stop` removes the listener from the signal, which may live long. */
export function followSignal(signal: AbortSignal | undefined): {
  readonly cancellation: Cancellation;
  stop(): void;
} {
  const cancellation = new Cancellation();
  const onAbort = (): void => {
    if (signal) cancellation.cancel(getAbortReason(signal));
  };
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  return { cancellation, stop: () => signal?.removeEventListener("abort", onAbort) };
}

function createCancelError(cause?: unknown): GatewayError {
  return new GatewayError("CANCELLED", "The caller cancelled the call.", { cause });
}
