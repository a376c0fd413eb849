import { type GatewayError, isJsonObject } from "../../core/mod.ts";
import type { RegistryEntry, RegistryResult } from "../../core/services/registries.ts";
import { sha256Hex } from "../lib/hash.ts";
import { readEntry, writeEntry } from "./entry.ts";
import { parseRegistryOptions, type RegistryOptions } from "./options.ts";
import {
  createRegistryRequest,
  type ListOptions,
  type RegistryPage,
  type RegistryParts,
  readPages,
  registryUnavailable,
} from "./request.ts";

/** Cache of results. The cache of a gateway is one. */
interface RegistryCache {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
}

interface RegistrySearchOptions {
  /** Most entries; 100 by default. */
  readonly limit?: number | undefined;
  /** An exact version; `latest` by default. */
  readonly version?: string | undefined;
  /** Whether a cached result may be used; true by default. */
  readonly useCache?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Client of MCP registries (API v0.1). */
export interface RegistryClient {
  /** The base URLs, the most trusted first. */
  readonly registries: readonly string[];
  /** Finds the servers whose name contains a string. Rejects only if no registry could be asked. */
  search(query: string, options?: RegistrySearchOptions): Promise<RegistryResult>;
  /** Finds one version of a server, the latest by default, from the first registry that has it. */
  server(
    name: string,
    options?: { version?: string; signal?: AbortSignal },
  ): Promise<RegistryEntry | undefined>;
  /** Lists all versions of a server, the newest first. */
  versions(name: string, options?: { signal?: AbortSignal }): Promise<readonly RegistryEntry[]>;
  /** Reads the pages of one registry's list. */
  pages(registry: string, options?: ListOptions): AsyncGenerator<RegistryPage, void, undefined>;
}

interface RegistryClientParts extends RegistryParts {
  readonly cache?: RegistryCache | undefined;
}

const DEFAULT_LIMIT = 100;
/** Most entries that one search caches. */
const MOST_FOUND = 1_000;
/** Most requests of one search. */
const MOST_PAGES = 20;

/** Creates a client of one or several registries. */
export function createRegistryClient(
  options: RegistryOptions = {},
  parts: RegistryClientParts = {},
): RegistryClient {
  const settings = parseRegistryOptions(options);
  const { registries, ttlMs } = settings;
  const request = createRegistryRequest(settings, parts);
  const pages: RegistryClient["pages"] = (registry, list = {}) =>
    readPages(request, registry, list, settings);

  return {
    registries,
    pages,
    async search(query, { limit = DEFAULT_LIMIT, version = "latest", useCache = true, signal } = {}) {
      const most = Math.min(limit, MOST_FOUND);
      const asked = registries.map(async (registry) => {
        const key = cacheKey(query, [registry, version, String(most)]);
        const known = useCache ? readCached(await parts.cache?.get(key), registry) : undefined;
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
      const { values, troubles } = await collectResults(asked, signal);
      return { entries: distinct(values.flat()).slice(0, most), troubles };
    },
    async server(name, { version = "latest", signal } = {}) {
      const path = `servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`;
      return askFirst(signal, async (registry) => {
        const answer = await request(registry, path, {}, signal);
        const entry = answer && readEntry(answer.body, registry);
        // A registry may answer with another server.
        return entry?.name === name ? entry : undefined;
      });
    },
    async versions(name, { signal } = {}) {
      const path = `servers/${encodeURIComponent(name)}/versions`;
      const found = await askFirst(signal, async (registry) => {
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

  /** Asks from the most trusted on. A registry that fails is skipped; its error is thrown if no other has an answer. */
  async function askFirst<T>(
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

  async function collectResults<T>(
    asked: readonly Promise<T>[],
    signal: AbortSignal | undefined,
  ): Promise<{ values: readonly T[]; troubles: readonly GatewayError[] }> {
    const values: T[] = [];
    const troubles: GatewayError[] = [];
    for (const [index, one] of (await Promise.allSettled(asked)).entries()) {
      if (one.status === "fulfilled") values.push(one.value);
      else troubles.push(registryUnavailable(registries[index] as string, one.reason));
    }
    if (signal?.aborted) throw signal.reason;
    const [first] = troubles;
    if (first && values.length === 0) throw first;
    return { values, troubles };
  }
}

/** Builds a cache key: `registry_<query>`, as spec 004 has it, with a hash of all that distinguishes results. */
export function cacheKey(query: string, also: readonly string[]): string {
  const words = query
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .slice(0, 80);
  const rest = sha256Hex(JSON.stringify([query, ...also])).slice(0, 12);
  return `registry_${words}_${rest}`;
}

/** Reads a cached result. Other programs may write into a cache folder, so it is checked as input from the network is. */
function readCached(value: unknown, registry: string): readonly RegistryEntry[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isJsonObject).flatMap((one) => readEntry(one, registry) ?? []);
}

/**
 * Drops entries of a name that a more trusted registry has: a less trusted one must not be able to offer a newer
 * version of another's server.
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
