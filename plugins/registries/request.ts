import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { UPSTREAM_PROTOCOL } from "../../core/services/servers.ts";
import { retryWork, sleep } from "../lib/backoff.ts";
import { createHttp } from "../lib/http/client.ts";
import { toStatusError, unexpectedStatus } from "../lib/http/errors.ts";
import { parseJsonObject } from "../lib/json.ts";
import { memoryLimiter, takeTurn } from "../lib/rate.ts";
import { readField } from "../lib/server-entry/connection.ts";
import { readEntry } from "./entry.ts";
import { REGISTRY_UNAVAILABLE } from "./errors.ts";
import { formatRegistry, type RegistrySettings } from "./options.ts";

/** Clock and randomness, for tests. */
export interface RegistryParts {
  /** Waits; rejects when the signal is aborted. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

/** Answer of a registry. */
interface RegistryAnswer {
  readonly body: JsonObject;
  /** The time of the registry, if it sent it. */
  readonly at: number | undefined;
}

/** Requests a path of the API of one registry; undefined if it is not found. */
type RegistryRequest = (
  base: string,
  path: string,
  query?: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
) => Promise<RegistryAnswer | undefined>;

/** The defaults of spec 004, which hold for registries as for servers. */
const RATE = { limit: 10, perMs: 1_000, burst: 20 };

/** Creates a function for requests that are limited in size, time and rate, and retried after temporary failures. */
export function createRegistryRequest(
  settings: RegistrySettings,
  parts: RegistryParts = {},
): RegistryRequest {
  const { timeoutMs: deadlineMs, maxBytes, retry: policy } = settings;
  const { wait = sleep, random = Math.random } = parts;
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
      return await retryWork(() => attempt(base, url, signal), {
        policy,
        waiting: { sleep: wait, random },
        mayRetry: isTemporary,
        signal,
      });
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      throw registryUnavailable(base, thrown);
    }
  };

  async function attempt(base: string, url: URL, signal?: AbortSignal): Promise<RegistryAnswer | undefined> {
    await takeTurn(limiter, { ...RATE, name: base }, signal);
    const response = await http.fetch(url, signal ? { signal } : {});
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw toStatusError(response, url.host) ?? unexpectedStatus(response.status, url.host);
    }
    const body = parseJsonObject(await response.text());
    if (!body) throw new GatewayError(UPSTREAM_PROTOCOL, "Its answer is not a JSON object.");
    const at = Date.parse(response.headers.get("date") ?? "");
    return { body, at: Number.isNaN(at) ? undefined : at };
  }
}

/** Creates the error for a registry that cannot be used. */
export function registryUnavailable(base: string, thrown: unknown): GatewayError {
  const cause = GatewayError.from(thrown);
  if (cause.code === REGISTRY_UNAVAILABLE.code) return cause;
  const { status, retryAfterMs } = cause.data;
  const later = typeof retryAfterMs === "number" && ` Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
  const registry = formatRegistry(base);
  return new GatewayError(
    REGISTRY_UNAVAILABLE,
    `The registry ${registry} cannot be used. ${cause.message}${later || ""}`,
    { cause, data: { registry, ...(status !== undefined && { status }), ...(later && { retryAfterMs }) } },
  );
}

/** Whether spec 004 (8.3) retries an error: HTTP 429 and 503, timeouts, reset connections. */
function isTemporary({ code, data, cause }: GatewayError): boolean {
  const { status } = data;
  if (status !== undefined) return status === 429 || status === 503;
  if (code === "TIMEOUT" || code === "UPSTREAM_CLOSED") return true;
  return (
    code === "CONNECT_FAILED" && cause instanceof Error && /ETIMEDOUT|CONNECT_TIMEOUT/.test(cause.message)
  );
}

/** Filter of a list of servers. */
export interface ListOptions {
  /** A part of the name, in any case. */
  readonly search?: string | undefined;
  /** Only servers that changed since, as RFC 3339; those deleted since are then listed too. */
  readonly updatedSince?: string | undefined;
  /** An exact version, or `latest` for one entry a server. */
  readonly version?: string | undefined;
  readonly includeDeleted?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One page of a list. */
export interface RegistryPage {
  readonly entries: readonly RegistryEntry[];
  /** Number of unusable entries that were left out. */
  readonly dropped: number;
  /** The cursor of the next page; nothing at the end of the list. */
  readonly cursor: string | undefined;
  /** The time of the registry, if it sent it. */
  readonly at: number | undefined;
}

/** More than is ever asked for. */
const MOST_ENTRIES = 2_000;
const LONGEST_CURSOR = 4_000;
/** A list ends after this many pages without a new entry. */
const MOST_IDLE_PAGES = 3;

/** Reads a list page by page. It ends, whatever a registry answers. */
export async function* readPages(
  request: RegistryRequest,
  base: string,
  options: ListOptions,
  settings: Pick<RegistrySettings, "pageSize" | "maxPages">,
): AsyncGenerator<RegistryPage, void, undefined> {
  const { search, updatedSince, version, includeDeleted, signal } = options;
  const query = {
    limit: String(settings.pageSize),
    search,
    updated_since: updatedSince,
    version,
    include_deleted: includeDeleted ? "true" : undefined,
  };
  const cursors = new Set<string>();
  const seen = new Set<string>();
  let cursor: string | undefined;
  let idle = 0;
  for (let count = 0; count < settings.maxPages; count++) {
    const answer = await request(base, "servers", { ...query, cursor }, signal);
    if (!answer)
      throw registryUnavailable(base, new GatewayError(UPSTREAM_PROTOCOL, "It has no API of version 0.1."));
    const page = readPage(answer.body, base);
    const fresh = page.entries.filter((entry) => {
      const id = `${entry.name} ${entry.version}`;
      return !seen.has(id) && seen.add(id);
    });
    // Unusable entries count as new: others may follow them.
    idle = fresh.length + page.dropped > 0 ? 0 : idle + 1;
    const next = page.cursor;
    yield { entries: fresh, dropped: page.dropped, cursor: next, at: answer.at };
    if (next === undefined || next === cursor || cursors.has(next) || idle >= MOST_IDLE_PAGES) return;
    cursors.add(next);
    cursor = next;
  }
}

function readPage(body: JsonObject, base: string): Omit<RegistryPage, "at"> {
  const servers = Array.isArray(body["servers"]) ? body["servers"] : [];
  const entries = servers.slice(0, MOST_ENTRIES).flatMap((value) => readEntry(value, base) ?? []);
  const metadata = isJsonObject(body["metadata"]) ? body["metadata"] : {};
  const cursor = readField(metadata, "nextCursor");
  const isUsable = typeof cursor === "string" && cursor !== "" && cursor.length <= LONGEST_CURSOR;
  return { entries, dropped: servers.length - entries.length, cursor: isUsable ? cursor : undefined };
}
