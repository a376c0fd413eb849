import { GatewayError } from "../../core/mod.ts";
import { isDamaged } from "../../core/services/state.ts";
import { type Backoff, backoffDelay } from "../lib/backoff.ts";

/** Outcomes that could not be stored when their calls ended. */
export interface Outbox {
  /** Stores an outcome; if that fails, it is kept and stored later. `failed` gets the first failure. */
  store(write: () => Promise<unknown>, failed: (error: GatewayError) => void): Promise<void>;
  /** Tries once more to store what is left. */
  close(): Promise<void>;
}

const retryBackoff: Backoff = { initialDelayMs: 100, maxDelayMs: 5_000, jitter: [1, 1.5] };

/**
 * Creates an outbox. It needs no limit: while the store fails, no further call is begun under a key, so it holds at most
 * the calls that ran when the store was lost.
 */
export function createOutbox(): Outbox {
  const unwritten: (() => Promise<unknown>)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isClosed = false;

  return {
    async store(write, failed) {
      try {
        await write();
      } catch (thrown) {
        if (!isDamaged(thrown)) {
          unwritten.push(write);
          schedule();
        }
        failed(GatewayError.from(thrown));
      }
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await flush();
    },
  };

  function schedule(): void {
    if (timer !== undefined || isClosed) return;
    timer = setTimeout(
      async () => {
        await flush();
        timer = undefined;
        if (unwritten.length > 0) schedule();
      },
      backoffDelay(failures, retryBackoff),
    );
    timer.unref?.();
  }

  async function flush(): Promise<void> {
    for (let write = unwritten[0]; write; write = unwritten[0]) {
      try {
        await write();
      } catch (thrown) {
        // A record that cannot be read is never written again: its key stays unknown.
        if (!isDamaged(thrown)) {
          failures++;
          return;
        }
      }
      unwritten.shift();
      failures = 0;
    }
  }
}
