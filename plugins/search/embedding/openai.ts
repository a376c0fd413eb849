import * as v from "valibot";
import type { GatewayError } from "../../../core/mod.ts";
import type { Embedder } from "../../../core/services/search.ts";
import { type RetryWorkOptions, retryWork, sleep } from "../../lib/backoff.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { createHttp } from "../../lib/http/client.ts";
import { toStatusError } from "../../lib/http/errors.ts";
import { openaiOptions } from "../options.ts";
import { checkVectors, embedTexts, unavailable } from "./embedder.ts";

const MAX_TEXTS = 64;
const MAX_CHARACTERS = 8_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** A server that asks for a longer delay is left to a later search. */
const RETRY: RetryWorkOptions = {
  policy: { maxRetries: 3, initialDelayMs: 500, maxDelayMs: 30_000 },
  waiting: { sleep: (ms, signal) => sleep(ms, signal, false) },
  mayRetry: isTransient,
};

const answer = v.object({
  data: v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) })),
});

/** Embeds through an endpoint. Requests that may succeed later are retried, as late as the server asks. */
export function openaiEmbedder(
  given: v.InferInput<typeof openaiOptions>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Embedder {
  const options = v.parse(openaiOptions, { ...given, type: "openai" });
  const { url, model, apiKeyEnv, toolPrefix, timeoutMs } = options;
  const endpoint = new URL(/\/embeddings\/?$/.test(url) ? url : `${url.replace(/\/+$/, "")}/embeddings`);
  const name = `openai ${model}`;
  const http = createHttp({ maxBytes: MAX_BYTES, deadlineMs: timeoutMs });
  let dimensions = options.dimensions;

  const headers = (): Record<string, string> => {
    const key = apiKeyEnv === undefined ? undefined : environment[apiKeyEnv];
    if (apiKeyEnv !== undefined && !key) throw unavailable(name, `the variable ${apiKeyEnv} is not set`);
    return key === undefined ? {} : { authorization: `Bearer ${key}` };
  };
  const request = async (
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> => {
    const response = await http.fetch(endpoint, {
      method: "POST",
      headers: { ...headers(), "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        model,
        input: texts.map((text) => text.slice(0, MAX_CHARACTERS) || " "),
        encoding_format: "float",
        ...(options.dimensions !== undefined && { dimensions: options.dimensions }),
      }),
      ...(signal && { signal }),
    });
    const failed = toStatusError(response, name);
    if (failed || !response.ok) {
      await response.body?.cancel();
      throw failed ?? unavailable(name, `the endpoint answered HTTP ${response.status}`);
    }
    const parsed = v.safeParse(answer, await parseJson(response, name));
    if (!parsed.success) throw unavailable(name, "its answer is not one of the embeddings API");
    // Some servers leave the index out; then the order is that of the request.
    const data = parsed.output.data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    const vectors = checkVectors(
      name,
      data.map((each) => each.embedding),
      texts.length,
      dimensions,
    );
    dimensions ??= vectors[0]?.length;
    return vectors;
  };
  const embed = async (texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]> => {
    const vectors: Float32Array[] = [];
    for (let from = 0; from < texts.length; from += MAX_TEXTS)
      vectors.push(
        ...(await retryWork(() => request(texts.slice(from, from + MAX_TEXTS), signal), {
          ...RETRY,
          signal,
        })),
      );
    return vectors;
  };

  return {
    name,
    get dimensions() {
      return dimensions;
    },
    hash: sha256Hex(JSON.stringify([endpoint.href, model, options.dimensions, toolPrefix])),
    ...embedTexts(embed, options),
  };
}

/** Whether a request may succeed later. */
function isTransient({ data: { status }, kind }: GatewayError): boolean {
  return typeof status === "number" ? status === 429 || status >= 500 : kind.retry;
}

async function parseJson(response: Response, name: string): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unavailable(name, "its answer is not JSON", cause);
  }
}
