import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** An answer to one request instead of vectors. */
export type Fault = (response: ServerResponse, request: IncomingMessage) => void;

/** A server of the embeddings API of OpenAI. Its vectors count letters, which is meaning enough. */
export interface EmbeddingsServer {
  readonly url: string;
  /** The requests, in order. */
  readonly requests: { readonly body: Record<string, unknown>; readonly authorization: string | undefined }[];
  /** Answers to the next requests, one each; vectors once there are none left. */
  readonly faults: Fault[];
  /** Changes every answer. */
  change: (data: { object: string; index: number; embedding: number[] }[]) => unknown;
}

/** Starts one that ends with the test. */
export async function embeddingsServer(dimensions = 64): Promise<EmbeddingsServer> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const own: EmbeddingsServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    faults: [],
    change: (data) => data,
  };
  return own;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    own.requests.push({ body, authorization: request.headers.authorization });
    const fault = own.faults.shift();
    if (fault) return fault(response, request);
    const input = body["input"] as string[];
    if (
      request.url !== "/v1/embeddings" ||
      !Array.isArray(input) ||
      input.length > 2048 ||
      input.includes("")
    )
      return status(400)(response, request);
    const data = input.map((each, index) => ({
      object: "embedding",
      index,
      embedding: countLetters(each, dimensions),
    }));
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    // The order is not promised, so the places are what counts.
    send(response, 200, { object: "list", model: body["model"], data: own.change(data.toReversed()), usage });
  }
}

/** A fault that is nothing but a status. */
export function status(code: number, headers: Record<string, string> = {}): Fault {
  return (response) => send(response, code, { error: { message: "no", type: "error" } }, headers);
}

function send(
  response: ServerResponse,
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  // JSON has no NaN, but some servers write it all the same.
  response.end(JSON.stringify(body).replaceAll('"NaN"', "NaN"));
}

function countLetters(text: string, dimensions: number): number[] {
  const counts = Array.from({ length: dimensions }, () => 0.01);
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  for (const word of words) {
    const place = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % dimensions, 7);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const length = Math.hypot(...counts);
  return counts.map((count) => count / length);
}
