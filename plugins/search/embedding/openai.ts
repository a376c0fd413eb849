import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as v from "valibot";
import { GatewayError } from "../../../core/mod.ts";
import { statusError } from "../../upstreams/http-errors.ts";
import { guardedFetch } from "../../upstreams/http-fetch.ts";
import { checkedVectors, type Embedder, unavailable } from "./embedder.ts";
import { textOf } from "./tool-text.ts";

/** An endpoint that speaks the embeddings API of OpenAI: OpenAI itself, Ollama, LM Studio, vLLM and others. */
export interface OpenaiEmbedderOptions {
  readonly type: "openai";
  /** The address of the API, with or without `/embeddings` at its end; OpenAI's by default. */
  readonly url?: string | undefined;
  readonly model: string;
  /** The name of the environment variable that holds the key, where one is needed. */
  readonly apiKeyEnv?: string | undefined;
  /** Asks for vectors of this length, from models that have a choice. */
  readonly dimensions?: number | undefined;
  /** What some models want before a query, such as "search_query: ". */
  readonly queryPrefix?: string | undefined;
  /** What some models want before a text that is searched, such as "search_document: ". */
  readonly toolPrefix?: string | undefined;
  /** How long one request may take, in milliseconds; 30 seconds by default. */
  readonly timeoutMs?: number | undefined;
}

const OPENAI = "https://api.openai.com/v1";
const MAX_TEXTS = 64;
const MAX_CHARACTERS = 8_000;
const MAX_BYTES = 64 * 1024 * 1024;
const ATTEMPTS = 4;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

const answer = v.object({
  data: v.array(v.object({ index: v.optional(v.number()), embedding: v.array(v.number()) })),
});

/** Embeds through an endpoint. Requests that may succeed later are made again, as late as the server asks. */
export function openaiEmbedder(
  options: OpenaiEmbedderOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Embedder {
  const { url = OPENAI, model, apiKeyEnv, queryPrefix = "", toolPrefix = "", timeoutMs = 30_000 } = options;
  const endpoint = new URL(/\/embeddings\/?$/.test(url) ? url : `${url.replace(/\/+$/, "")}/embeddings`);
  const name = `openai ${model}`;
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
    const fetch = guardedFetch({ headers: headers(), maxBytes: MAX_BYTES, deadlineMs: timeoutMs });
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        model,
        input: texts.map((text) => text.slice(0, MAX_CHARACTERS) || " "),
        encoding_format: "float",
        ...(options.dimensions !== undefined && { dimensions: options.dimensions }),
      }),
      ...(signal && { signal }),
    });
    const failed = statusError(response, name);
    if (failed || !response.ok) {
      await response.body?.cancel();
      throw failed ?? unavailable(name, `the endpoint answered HTTP ${response.status}`);
    }
    const parsed = v.safeParse(answer, await jsonOf(response, name));
    if (!parsed.success) throw unavailable(name, "its answer is not one of the embeddings API");
    // Some servers leave the places out; then the order is the order asked for.
    const data = parsed.output.data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    const vectors = checkedVectors(
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
      vectors.push(...(await patiently(() => request(texts.slice(from, from + MAX_TEXTS), signal), signal)));
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
        tools.map((tool) => toolPrefix + textOf(tool)),
        signal,
      ),
    textOf,
  };
}

/** Tries again what may succeed later: not at once, and not before the server says so. */
async function patiently<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const wait = waitAfter(thrown, attempt);
      if (wait === undefined || attempt === ATTEMPTS || signal?.aborted) throw thrown;
      await sleep(wait, undefined, { signal, ref: false });
    }
  }
}

function waitAfter(thrown: unknown, attempt: number): number | undefined {
  if (!GatewayError.is(thrown)) return undefined;
  const { status, retryAfterMs } = thrown.data;
  const isPassing = typeof status === "number" ? status === 429 || status >= 500 : thrown.kind.retry;
  if (!isPassing) return undefined;
  if (typeof retryAfterMs !== "number") return FIRST_WAIT_MS * 2 ** (attempt - 1);
  // Nobody waits for hours; whoever asks next will see.
  return retryAfterMs <= LONGEST_WAIT_MS ? retryAfterMs : undefined;
}

async function jsonOf(response: Response, name: string): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unavailable(name, "its answer is not JSON", cause);
  }
}
