import type { CallRequest, Progress, SettledCall, ToolResult } from "../../core/mod.ts";
import type { Results } from "../../core/services/results.ts";
import type { RequestClient } from "./client/pending.ts";
import { toToolResult } from "./protocol/results.ts";

/** Options of {@link runLongCall}. */
export interface LongCallOptions {
  readonly results: Results;
  /** Turns a call that has ended into the result for the client. */
  readonly toResult: (settled: SettledCall) => ToolResult;
  /** The name of the tool, for the note that the client gets instead of a result. */
  readonly name: string;
  /** The caller; the time in which it is asked something does not count. */
  readonly client?: RequestClient | undefined;
}

/**
 * Runs a call, and waits for it no longer than `results.waitMs`. Then the client gets a link to the result, which can
 * be read once it is there; the call goes on, and is recorded as the one call it is.
 */
export function runLongCall(
  run: (request: CallRequest) => Promise<SettledCall>,
  request: CallRequest,
  { results, toResult, name, client }: LongCallOptions,
): Promise<ToolResult> {
  let last: Progress | undefined;
  let isAnswered = false;
  const running = run({
    ...request,
    onProgress(progress) {
      last = progress;
      // The protocol allows no progress of a request that is answered.
      if (!isAnswered) request.onProgress?.(progress);
    },
  });
  return new Promise((resolve, reject) => {
    let timer = setTimeout(check, results.waitMs);
    running
      .then((settled) => {
        clearTimeout(timer);
        if (!isAnswered) resolve(toResult(settled));
      })
      .catch(reject);

    function check(): void {
      const left = Math.ceil((client?.answeredAt ?? 0) + results.waitMs - performance.now());
      if (left > 0) timer = setTimeout(check, left);
      else answerLater();
    }

    function answerLater(): void {
      const { actor } = request;
      const link = results.later(running.then(toToolResult), { actor, name, progress: () => last });
      isAnswered = link !== undefined;
      if (link) resolve(link);
    }
  });
}
