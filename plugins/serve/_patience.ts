import type { CallRequest, Progress, SettledCall, ToolResult } from "../../core/mod.ts";
import type { Results } from "../results/mod.ts";
import { resultOf } from "./_result-of.ts";
import type { ServedClient } from "./_served-client.ts";

/** What is done with a call that is waited for. */
export interface Patience {
  readonly results: Results;
  /** What the client gets of a call that is over. */
  readonly shown: (settled: SettledCall) => ToolResult;
  /** What is called, for whoever reads its result later. */
  readonly name: string;
  /** Whoever called; while it is asked something, it is not the tool that takes long. */
  readonly client?: ServedClient | undefined;
}

/**
 * Runs a call, and waits for it only so long. Then it goes on by itself, and is recorded as the one call it is; its
 * result can be read once it is there.
 */
export function patiently(
  run: (request: CallRequest) => Promise<SettledCall>,
  request: CallRequest,
  { results, shown, name, client }: Patience,
): Promise<ToolResult> {
  let last: Progress | undefined;
  let isAnswered = false;
  const running = run({
    ...request,
    onProgress(progress) {
      last = progress;
      // Nothing more may be said of a request that is answered.
      if (!isAnswered) request.onProgress?.(progress);
    },
  });
  return new Promise((resolve, reject) => {
    let timer = setTimeout(look, results.waitMs);
    running
      .then((settled) => {
        clearTimeout(timer);
        if (!isAnswered) resolve(shown(settled));
      })
      .catch(reject);

    function look(): void {
      const left = Math.ceil(patienceSince(client) + results.waitMs - performance.now());
      if (left > 0) timer = setTimeout(look, left);
      else answerLater();
    }

    function answerLater(): void {
      const { actor } = request;
      const link = results.later(running.then(resultOf), { actor, name, progress: () => last });
      isAnswered = link !== undefined;
      if (link) resolve(link);
    }
  });
}

/** While a client has questions to answer, and from when it last answered one, it is not the tool that is waited for. */
function patienceSince(client: ServedClient | undefined): number {
  return client?.unanswered ? performance.now() : (client?.answeredAt ?? 0);
}
