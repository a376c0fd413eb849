import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import { GatewayError } from "../../../core/mod.ts";
import type { Embedder } from "../../../core/services/search.ts";
import { createHttp } from "../../lib/http/client.ts";
import { toStatusError } from "../../lib/http/errors.ts";
import type { OpenaiEmbedderOptions } from "../options.ts";
import { checkVectors, toolText, unavailable } from "./embedder.ts";

const OPENAI = "https://api.openai.com/v1";
const MAX_TEXTS = 64;
const MAX_CHARACTERS = 8_000;
const MAX_BYTES = 64 * 1024 * 1024;
const ATTEMPTS = 4;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;

const answer = v.object({
  data: v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) })),
});

/** Embeds through an endpoint. Requests that may succeed later are retried, as late as the server asks. */
export function openaiEmbedder(
  options: OpenaiEmbedderOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Embedder {
  const { url = OPENAI, model, apiKeyEnv, queryPrefix = "", toolPrefix = "", timeoutMs = 30_000 } = options;
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
        ...(await withRetries(() => request(texts.slice(from, from + MAX_TEXTS), signal), signal)),
      );
    return vectors;
  };

  return {
    name,
    get dimensions() {
      return dimensions;
    },
    hash: createHash("sha256")
      .update(JSON.stringify([endpoint.href, model, options.dimensions, toolPrefix]))
      .digest("hex"),
    embedQueries: (texts, signal) =>
      embed(
        texts.map((text) => queryPrefix + text),
        signal,
      ),
    embedTools: (tools, signal) =>
      embed(
        tools.map((tool) => toolPrefix + toolText(tool)),
        signal,
      ),
    textOf: toolText,
  };
}

/** Retries what may succeed later, with backoff, and not before the server allows it. */
async function withRetries<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const delay = nextRetryDelay(thrown, attempt);
      if (delay === undefined || attempt === ATTEMPTS || signal?.aborted) throw thrown;
      await sleep(delay, undefined, { signal, ref: false });
    }
  }
}

function nextRetryDelay(thrown: unknown, attempt: number): number | undefined {
  if (!GatewayError.is(thrown)) return undefined;
  const { status, retryAfterMs } = thrown.data;
  const isTransient = typeof status === "number" ? status === 429 || status >= 500 : thrown.kind.retry;
  if (!isTransient) return undefined;
  if (typeof retryAfterMs !== "number") return FIRST_DELAY_MS * 2 ** (attempt - 1);
  // A longer delay is left to a later search.
  return retryAfterMs <= MAX_DELAY_MS ? retryAfterMs : undefined;
}

async function parseJson(response: Response, name: string): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unavailable(name, "its answer is not JSON", cause);
  }
}
