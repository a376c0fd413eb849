import { Cancellation } from "../../core/mod.ts";
import { left } from "./_asking.ts";
import type { Id } from "./_handler.ts";

/**
 * A request on its way; cancelled when its client takes it back. A class because every request has one: an object that
 * is written out with getters, and all that these can reach, was seen to live until old objects are collected
 * (test/bench/README.md).
 */
export class Underway extends Cancellation {
  readonly id: Id;
  /** Whether it has come to something that may do more than read. */
  hasEffects = false;
  /** Called when it is answered, or nobody waits for its answer any more; for whom a signal would cost too much. */
  onLeave: (() => void) | undefined = undefined;
  #isGone = false;
  #gone: AbortController | undefined;
  #isDone = false;
  #done: Promise<void> | undefined;
  #onDone: (() => void) | undefined;

  constructor(id: Id) {
    super();
    this.id = id;
  }

  /** Whether it is answered, or nobody waits for its answer any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Aborted then, with what to say to whoever would still ask its client something. */
  get gone(): AbortSignal {
    // Made on first use: few requests ask anything.
    this.#gone ??= new AbortController();
    if (this.#isGone && !this.#gone.signal.aborted) this.#gone.abort(left());
    return this.#gone.signal;
  }

  leave(): void {
    this.#isGone = true;
    this.onLeave?.();
    if (this.#gone && !this.#gone.signal.aborted) this.#gone.abort(left());
  }

  /** Resolves once nothing is done for it any more. */
  get done(): Promise<void> {
    if (this.#isDone) return Promise.resolve();
    this.#done ??= new Promise((resolve) => {
      this.#onDone = resolve;
    });
    return this.#done;
  }

  /** Says so. */
  end(): void {
    this.#isDone = true;
    this.#onDone?.();
    // A map may hold what was in it for long, and behind this is all of a request.
    this.onLeave = undefined;
  }
}
