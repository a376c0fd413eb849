import { GatewayError } from "../../../core/mod.ts";
import { redirectTarget } from "../http-fetch.ts";
import {
  type Client,
  type ClientAnswer,
  type ClientRequest,
  type ExchangeLimits,
  withSent,
} from "./client.ts";

/** What bounds a request and its redirects together. */
export interface SendLimits extends ExchangeLimits {
  /** All of it ends after this long, however busily the answer trickles in. */
  readonly deadlineMs: number;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** What goes on to another origin; whatever proves who we are does not. */
const HARMLESS = new Set(["accept", "content-type", "user-agent"]);

/** Sends a request, and follows where it is redirected to as long as nothing is repeated or given away by that. */
export async function send(client: Client, first: ClientRequest, limits: SendLimits): Promise<ClientAnswer> {
  const { maxBytes, deadlineMs, signal: outer } = limits;
  const abort = new AbortController();
  const giveUp = (): void => abort.abort(outer?.reason);
  const late = new GatewayError("TIMEOUT", `The server did not answer within ${deadlineMs} ms.`, {
    data: { ms: deadlineMs },
  });
  const timer = setTimeout(() => abort.abort(late), deadlineMs);
  if (outer?.aborted) giveUp();
  outer?.addEventListener("abort", giveUp, { once: true });
  try {
    let request = first;
    let isAfterwards = false;
    for (let hops = 0; ; hops++) {
      // Once one request has been answered, something was sent, whatever becomes of the next.
      const answer = await client
        .exchange(request, { maxBytes, signal: abort.signal })
        .catch((thrown: unknown) =>
          Promise.reject(hops === 0 ? thrown : withSent(thrown, request.url, true)),
        );
      const next = hops < MAX_REDIRECTS ? redirected(request, answer) : undefined;
      if (!next) return isAfterwards ? { ...answer, isAfterwards } : answer;
      isAfterwards ||= next.method !== request.method;
      request = next;
    }
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener("abort", giveUp);
  }
}

/** The request that a redirect asks for; nothing where it is not followed, and is itself the answer. */
function redirected(request: ClientRequest, { status, headers }: ClientAnswer): ClientRequest | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const isReading = request.method === "GET" || request.method === "HEAD";
  // 303 says that the request was done, and where to read how it went.
  const becomesGet = status === 303 && !isReading;
  const repeats = isReading || status === 307 || status === 308;
  if (!becomesGet && !repeats) return undefined;
  const url = targetOf(request.url, location, status);
  const isSameOrigin = url.origin === request.url.origin;
  // What a request carries was meant for whom it was sent to.
  if (!isSameOrigin && !becomesGet && (request.body !== undefined || !isReading)) return undefined;
  const kept = Object.entries(request.headers).filter(
    ([name]) => (isSameOrigin || HARMLESS.has(name)) && !(becomesGet && name === "content-type"),
  );
  return {
    method: becomesGet ? "GET" : request.method,
    url,
    headers: Object.fromEntries(kept),
    body: becomesGet ? undefined : request.body,
  };
}

function targetOf(from: URL, location: string, status: number): URL {
  try {
    // The method was looked at already.
    return redirectTarget(from, location, status);
  } catch (thrown) {
    throw withSent(thrown, from, true);
  }
}
