import { createHash } from "node:crypto";
import { type GatewayError, isJsonObject } from "../../core/mod.ts";
import { type RegistryEntry, readEntry, writeEntry } from "./entry.ts";
import { type RegistryOptions, registrySettings } from "./options.ts";
import { type ListOptions, type RegistryPage, registryPages } from "./pages.ts";
import { type RegistryParts, registryRequest, unavailable } from "./request.ts";

/** Where results are kept for a while. The cache of a gateway is one. */
export interface RegistryCache {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
}

/** What registries were found to have. */
export interface RegistryResult {
  readonly entries: readonly RegistryEntry[];
  /** Why some registries could not be asked. */
  readonly troubles: readonly GatewayError[];
}

/** How a search is made. */
export interface RegistrySearchOptions {
  /** At most so many entries; 100 by default. */
  readonly limit?: number | undefined;
  /** An exact version; `latest` by default. */
  readonly version?: string | undefined;
  /** Whether a result of the last hour will do; true by default. */
  readonly useCache?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Asks MCP registries (API v0.1). */
export interface RegistryClient {
  /** The base URLs, the most trusted first. */
  readonly registries: readonly string[];
  /** The servers whose name holds a text. Rejects only where no registry could be asked at all. */
  search(query: string, options?: RegistrySearchOptions): Promise<RegistryResult>;
  /** One version of a server, the latest by default, from the first registry that has it. */
  server(
    name: string,
    options?: { version?: string; signal?: AbortSignal },
  ): Promise<RegistryEntry | undefined>;
  /** All versions of a server, the newest first. */
  versions(name: string, options?: { signal?: AbortSignal }): Promise<readonly RegistryEntry[]>;
  /** The pages of one registry's list, from a cursor if there is one. */
  pages(
    registry: string,
    options?: ListOptions,
    cursor?: string,
  ): AsyncGenerator<RegistryPage, void, undefined>;
}

/** What a client is made of. */
export interface RegistryClientParts extends RegistryParts {
  readonly cache?: RegistryCache | undefined;
}

const DEFAULT_LIMIT = 100;
/** What one search keeps at most: a cache is no mirror. */
const MOST_FOUND = 1_000;
/** A search is not worth more requests, whatever a registry has to say. */
const MOST_PAGES = 20;

/** Makes a client of one or several registries. */
export function createRegistryClient(
  options: RegistryOptions = {},
  parts: RegistryClientParts = {},
): RegistryClient {
  const settings = registrySettings(options);
  const { registries, ttlMs } = settings;
  const request = registryRequest(settings, parts);
  const pages: RegistryClient["pages"] = (registry, list = {}, cursor) =>
    registryPages(request, registry, list, settings, cursor);

  return {
    registries,
    pages,
    async search(query, { limit = DEFAULT_LIMIT, version = "latest", useCache = true, signal } = {}) {
      const most = Math.min(limit, MOST_FOUND);
      const asked = registries.map(async (registry) => {
        const key = cacheKey(query, [registry, version, String(most)]);
        const known = useCache ? fromCache(await parts.cache?.get(key), registry) : undefined;
        if (known) return known;
        const found: RegistryEntry[] = [];
        let count = 0;
        for await (const { entries } of pages(registry, { search: query, version, signal })) {
          found.push(...entries);
          if (found.length >= most || ++count >= MOST_PAGES) break;
        }
        const kept = found.slice(0, most);
        await parts.cache?.set(key, kept.map(writeEntry), ttlMs);
        return kept;
      });
      const { values, troubles } = await settled(asked, signal);
      return { entries: distinct(values.flat()).slice(0, most), troubles };
    },
    async server(name, { version = "latest", signal } = {}) {
      const path = `servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
      return firstOf(signal, async (registry) => {
        const answer = await request(registry, path, {}, signal);
        const entry = answer && readEntry(answer.body, registry);
        // Whoever asks for a name gets that one or none.
        return entry?.name === name ? entry : undefined;
      });
    },
    async versions(name, { signal } = {}) {
      const path = `servers/${encodeURIComponent(name)}/versions`;
      const found = await firstOf(signal, async (registry) => {
        const answer = await request(registry, path, { include_deleted: "true" }, signal);
        const { servers } = answer?.body ?? {};
        const entries = (Array.isArray(servers) ? servers.slice(0, MOST_FOUND) : [])
          .flatMap((value) => readEntry(value, registry) ?? [])
          .filter((entry) => entry.name === name);
        return entries.length > 0 ? entries : undefined;
      });
      return found ?? [];
    },
  };

  /** From the most trusted that has it. One that cannot be asked is passed over, unless none of the others has it. */
  async function firstOf<T>(
    signal: AbortSignal | undefined,
    ask: (registry: string) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let trouble: unknown;
    for (const registry of registries) {
      try {
        const found = await ask(registry);
        if (found !== undefined) return found;
      } catch (thrown) {
        if (signal?.aborted) throw thrown;
        trouble ??= thrown;
      }
    }
    if (trouble !== undefined) throw trouble;
    return undefined;
  }

  async function settled<T>(
    asked: readonly Promise<T>[],
    signal: AbortSignal | undefined,
  ): Promise<{ values: readonly T[]; troubles: readonly GatewayError[] }> {
    const values: T[] = [];
    const troubles: GatewayError[] = [];
    for (const [index, one] of (await Promise.allSettled(asked)).entries()) {
      if (one.status === "fulfilled") values.push(one.value);
      else troubles.push(unavailable(registries[index] as string, one.reason));
    }
    if (signal?.aborted) throw signal.reason;
    const [first] = troubles;
    if (first && values.length === 0) throw first;
    return { values, troubles };
  }
}

/** `registry_<query>` as spec 004 has it, and what else tells one result from another. */
export function cacheKey(query: string, also: readonly string[]): string {
  const words = query
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .slice(0, 80);
  const rest = createHash("sha256")
    .update(JSON.stringify([query, ...also]))
    .digest("hex")
    .slice(0, 12);
  return `registry_${words}_${rest}`;
}

/** Other programs may write into a cache folder, so it is read as carefully as the network. */
function fromCache(value: unknown, registry: string): readonly RegistryEntry[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isJsonObject).flatMap((one) => readEntry(one, registry) ?? []);
}

/**
 * Without what the first to know a name does not say of it: a less trusted registry must not be able to offer a newer
 * version of somebody else's server.
 */
function distinct(entries: readonly RegistryEntry[]): readonly RegistryEntry[] {
  const owners = new Map<string, string>();
  const seen = new Set<string>();
  return entries.filter(({ name, version, registry }) => {
    const owner = owners.get(name) ?? registry;
    owners.set(name, owner);
    const id = `${name} ${version}`;
    return owner === registry && !seen.has(id) && seen.add(id);
  });
}
