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
export async function patiently(
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise<undefined>((resolve) => {
    const wait = (ms: number): void => {
      timer = setTimeout(() => {
        if (!client?.unanswered && !client?.answeredAt) return resolve(undefined);
        const since = client.unanswered ? performance.now() : client.answeredAt;
        const left = Math.ceil(since + results.waitMs - performance.now());
        if (left > 0) wait(left);
        else resolve(undefined);
      }, ms);
    };
    wait(results.waitMs);
  });
  const settled = await Promise.race([running, enough]);
  clearTimeout(timer);
  if (settled) return shown(settled);
  const link = results.later(running.then(resultOf), {
    actor: request.actor,
    name,
    progress: () => last,
  });
  isAnswered = link !== undefined;
  return link ?? shown(await running);
}
