import type { Progress } from "../../core/mod.ts";
import type { ExecutionEvent, ExecutionResult } from "./engine.ts";

/** Progress that nobody has read yet; of more, the oldest is forgotten. */
const MAX_WAITING = 100;

/** What tells of progress, and ends the work. */
interface Handles {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** The progress of some work as it comes, and then its result. The work ends when nobody reads on. */
export async function* eventsOf(
  work: (handles: Handles) => Promise<ExecutionResult>,
  signal?: AbortSignal,
): AsyncGenerator<ExecutionEvent, undefined, undefined> {
  const own = new AbortController();
  const waiting: Progress[] = [];
  let wake: () => void = () => {};
  let settled: ExecutionResult | undefined;
  const done = work({
    signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal,
    onProgress(progress) {
      waiting.push(progress);
      if (waiting.length > MAX_WAITING) waiting.shift();
      wake();
    },
  }).then((result) => {
    settled = result;
    wake();
  });
  try {
    while (true) {
      const next = waiting.shift();
      if (next) yield { type: "progress", ...next };
      else if (settled) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    yield { type: "result", ...settled };
  } finally {
    own.abort();
    await done;
  }
}
