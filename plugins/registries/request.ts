import { setTimeout as sleep } from "node:timers/promises";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { UPSTREAM_PROTOCOL } from "../../core/services/servers.ts";
import { retried } from "../lib/backoff.ts";
import { createHttp } from "../lib/http/client.ts";
import { toStatusError, unexpectedStatus } from "../lib/http/errors.ts";
import { memoryLimiter } from "../lib/rate.ts";
import { REGISTRY_UNAVAILABLE } from "./errors.ts";
import { type RegistrySettings, shownRegistry } from "./options.ts";

/** Clock and randomness, for tests. */
export interface RegistryParts {
  /** Waits; rejects when the signal is aborted. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

/** Answer of a registry. */
export interface RegistryAnswer {
  readonly body: JsonObject;
  /** The time of the registry, if it sent it. */
  readonly at: number | undefined;
}

/** Requests a path of the API of one registry; nothing if it is not found. */
export type RegistryRequest = (
  base: string,
  path: string,
  query?: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
) => Promise<RegistryAnswer | undefined>;

/** The defaults of spec 004, which hold for registries as for servers. */
const RATE = { limit: 10, perMs: 1_000, burst: 20 };

/** Creates a function for requests that are limited in size, time and rate, and retried after temporary failures. */
export function registryRequest(settings: RegistrySettings, parts: RegistryParts = {}): RegistryRequest {
  const { timeoutMs: deadlineMs, maxBytes, retry: policy } = settings;
  const { wait = pause, random = Math.random } = parts;
  const http = createHttp({
    maxBytes,
    deadlineMs,
    headers: { accept: "application/json" },
    onRedirect(from, to) {
      // The user has chosen this registry, and no other.
      if (to.host !== from.host) throw new GatewayError(UPSTREAM_PROTOCOL, `It has moved to ${to.host}.`);
    },
  });
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
    const response = await http.fetch(url, signal ? { signal } : {});
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw toStatusError(response, url.host) ?? unexpectedStatus(response.status, url.host);
    }
    const body = parsed(await response.text());
    const at = Date.parse(response.headers.get("date") ?? "");
    return { body, at: Number.isNaN(at) ? undefined : at };
  }
}

/** The error for a registry that cannot be used. */
export function unavailable(base: string, thrown: unknown): GatewayError {
  const cause = GatewayError.from(thrown);
  if (cause.code === REGISTRY_UNAVAILABLE.code) return cause;
  const { status, retryAfterMs } = cause.data;
  const later = typeof retryAfterMs === "number" && ` Try again in ${seconds(retryAfterMs)} s.`;
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

/** Whether spec 004 (8.3) retries an error: HTTP 429 and 503, timeouts, reset connections. */
function mayPass({ code, data, cause }: GatewayError): boolean {
  const { status } = data;
  if (status !== undefined) return status === 429 || status === 503;
  if (code === "TIMEOUT" || code === "UPSTREAM_CLOSED") return true;
  return (
    code === "CONNECT_FAILED" && cause instanceof Error && /ETIMEDOUT|CONNECT_TIMEOUT/.test(cause.message)
  );
}
