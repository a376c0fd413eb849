import { setTimeout as sleep } from "node:timers/promises";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { memoryLimiter } from "../guard/rate.ts";
import { retried } from "../retry/backoff.ts";
import { UPSTREAM_PROTOCOL } from "../upstreams/errors.ts";
import { statusError, unexpectedStatus } from "../upstreams/http-errors.ts";
import { guardedFetch, redirectTarget } from "../upstreams/http-fetch.ts";
import { REGISTRY_UNAVAILABLE } from "./errors.ts";
import { type RegistrySettings, shownRegistry } from "./options.ts";

/** What a test gives in place of the clock and of chance. */
export interface RegistryParts {
  /** Waits; rejects once the signal says so. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

/** What a registry answered. */
export interface RegistryAnswer {
  readonly body: JsonObject;
  /** The registry's own time, if it told it. */
  readonly at: number | undefined;
}

/** Asks one registry for one path of its API. Nothing where there is no such thing. */
export type RegistryRequest = (
  base: string,
  path: string,
  query?: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
) => Promise<RegistryAnswer | undefined>;

/** The defaults of spec 004, which hold for registries as for servers. */
const RATE = { limit: 10, perMs: 1_000, burst: 20 };
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Makes requests that are bounded in size, time and number, and tried again where that may help. */
export function registryRequest(settings: RegistrySettings, parts: RegistryParts = {}): RegistryRequest {
  const { timeoutMs: deadlineMs, maxBytes, retry: policy } = settings;
  const { wait = pause, random = Math.random } = parts;
  const send = guardedFetch({ maxBytes, deadlineMs, headers: { accept: "application/json" } });
  const limiter = memoryLimiter();

  return async (base, path, query = {}, signal) => {
    const url = new URL(`${base}/v0.1/${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value);
    try {
      return await retried(() => attempt(base, url, signal), {
        policy,
        waiting: { sleep: wait, random },
        mayRetry: mayPass,
        signal,
      });
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      throw unavailable(base, thrown);
    }
  };

  async function attempt(base: string, url: URL, signal?: AbortSignal): Promise<RegistryAnswer | undefined> {
    for (;;) {
      const { ok, retryAfterMs } = await limiter.take([{ ...RATE, name: base }]);
      if (ok) break;
      await pause(retryAfterMs, signal);
    }
    const response = await follow(url, signal);
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw statusError(response, url.host) ?? unexpectedStatus(response.status, url.host);
    }
    const body = parsed(await response.text());
    const at = Date.parse(response.headers.get("date") ?? "");
    return { body, at: Number.isNaN(at) ? undefined : at };
  }

  /** Only within the registry: whoever named it did not name another. */
  async function follow(from: URL, signal?: AbortSignal): Promise<Response> {
    let place = from;
    for (let hops = 0; ; hops++) {
      const init = { redirect: "manual" as const, ...(signal && { signal }) };
      const response = await send(place, init);
      const location = response.headers.get("location");
      if (!REDIRECTS.has(response.status) || location === null) return response;
      await response.body?.cancel();
      const target = redirectTarget(place, location, response.status);
      if (target.host !== place.host || hops === MAX_REDIRECTS)
        throw new GatewayError(UPSTREAM_PROTOCOL, `It has moved to ${target.host}.`);
      target.username = place.username;
      target.password = place.password;
      place = target;
    }
  }
}

/** The error for a registry that cannot be used. */
export function unavailable(base: string, thrown: unknown): GatewayError {
  const cause = GatewayError.from(thrown);
  if (cause.code === REGISTRY_UNAVAILABLE.code) return cause;
  const { status, retryAfterMs } = cause.data;
  const later =
    typeof retryAfterMs === "number" && ` It asks to be left alone for ${seconds(retryAfterMs)} s.`;
  const registry = shownRegistry(base);
  return new GatewayError(
    REGISTRY_UNAVAILABLE,
    `The registry ${registry} cannot be used. ${cause.message}${later || ""}`,
    { cause, data: { registry, ...(status !== undefined && { status }), ...(later && { retryAfterMs }) } },
  );
}

function parsed(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text);
    if (isJsonObject(body)) return body;
  } catch {}
  throw new GatewayError(UPSTREAM_PROTOCOL, "Its answer is not a JSON object.");
}

function seconds(ms: unknown): number {
  return Math.ceil(Number(ms) / 1000);
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, signal && { signal });
  } catch (thrown) {
    throw signal?.aborted ? signal.reason : thrown;
  }
}

/** What spec 004 (8.3) tries again: HTTP 429 and 503, timeouts, and connections that were reset. */
function mayPass({ code, data, cause }: GatewayError): boolean {
  const { status } = data;
  if (status !== undefined) return status === 429 || status === 503;
  if (code === "TIMEOUT" || code === "UPSTREAM_CLOSED") return true;
  return (
    code === "CONNECT_FAILED" && cause instanceof Error && /ETIMEDOUT|CONNECT_TIMEOUT/.test(cause.message)
  );
}
