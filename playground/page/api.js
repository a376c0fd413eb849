/**
 * @typedef {import("../protocol.ts").EvaluationLine} EvaluationLine
 * @typedef {import("../protocol.ts").Evaluation} Evaluation
 * @typedef {import("../protocol.ts").Progress} Progress
 */

/**
 * Asks the server, and throws what it says where it refuses.
 *
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
async function send(path, body, signal) {
  const options =
    body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...options, ...(signal && { signal }) });
  } catch (thrown) {
    if (signal?.aborted) throw thrown;
    throw new Error("The playground does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const refusal = await response.json().catch(() => undefined);
  throw new Error(refusal?.error?.message ?? "The playground could not answer this.");
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export async function ask(path, body) {
  return (await send(path, body)).json();
}

/**
 * Runs an evaluation and reports its progress. The signal cancels it on the server too.
 *
 * @param {object} request
 * @param {(progress: Progress) => void} onProgress
 * @param {AbortSignal} signal
 * @returns {Promise<Evaluation>}
 */
export async function runEvaluation(request, onProgress, signal) {
  const response = await send("/api/evaluate", request, signal);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      /** @type {EvaluationLine} */
      const line = JSON.parse(text);
      if ("progress" in line) onProgress(line.progress);
      else if ("result" in line) return line.result;
      else throw new Error(line.error);
    }
    if (done) throw new Error("The playground ended before the evaluation did.");
  }
}

/**
 * Has work done one at a time: what is asked for meanwhile is done once, after it, and not as often as it was asked.
 *
 * @param {() => Promise<void>} work
 * @returns {() => void}
 */
export function oneAtATime(work) {
  let busy = false;
  let again = false;
  const run = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await work();
    } while (again);
    busy = false;
  };
  return () => void run();
}
