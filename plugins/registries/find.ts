import type { GatewayError } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import { stopWords, wordsOf } from "../lib/text/text.ts";
import type { RegistryClient } from "./client.ts";
import type { Mirror } from "./mirror.ts";
import { type RegistryHit, registryIndex } from "./rank.ts";

/** Result of a search for servers. */
export interface FoundServers {
  readonly hits: readonly RegistryHit[];
  /** Whether the copy on this machine was searched, or the registries themselves. */
  readonly source: "mirror" | "registry";
  /** Size of the copy, and the time it was made. */
  readonly known?: { readonly servers: number; readonly syncedAt: number | undefined };
  /** Errors of registries that could not be asked. */
  readonly troubles: readonly GatewayError[];
}

/** Options for {@link findLocal} and {@link findRemote}. */
export interface FindOptions {
  readonly limit: number;
  /** Creates an empty ranker. */
  readonly ranker: () => Promise<Ranker>;
  readonly signal?: AbortSignal | undefined;
}

/** Most words that are asked for; each is a request. */
const MOST_WORDS = 4;
const LEAST_RELEVANCE = 0.01;

/** Searches the copy on this machine; nothing where there is none. */
export async function findLocal(
  mirror: Mirror,
  query: string,
  { limit, ranker }: FindOptions,
): Promise<FoundServers | undefined> {
  const content = await mirror.read();
  if (!content) return undefined;
  const { entries, syncedAt } = content;
  const hits = await registryIndex(entries, await ranker()).rank(query, limit);
  return { hits, source: "mirror", known: { servers: entries.length, syncedAt }, troubles: [] };
}

/**
 * Searches the registries themselves. They only find names that contain the query, so each word is asked for too, and
 * the results are ranked here.
 */
export async function findRemote(
  client: RegistryClient,
  query: string,
  { limit, ranker, signal }: FindOptions,
): Promise<FoundServers> {
  const words = [...new Set(wordsOf(query))].filter((word) => word.length > 2 && !stopWords.has(word));
  const texts = [query.trim(), ...(words.length > 1 ? words.slice(0, MOST_WORDS) : [])];
  const results = await Promise.all(texts.map((text) => client.search(text, { signal })));
  const [whole] = results;
  const all = new Map<string, RegistryEntry>();
  for (const { entries } of results)
    for (const entry of entries) if (!all.has(entry.name)) all.set(entry.name, entry);
  const ranked = await registryIndex([...all.values()], await ranker()).rank(query, limit);
  const names = new Set(ranked.map(({ entry }) => entry.name));
  // A name that contains the query is a hit, whatever its rank.
  const literal = (whole?.entries ?? []).filter(({ name }) => !names.has(name));
  const hits = [...ranked, ...literal.map((entry) => ({ entry, relevance: LEAST_RELEVANCE }))];
  const troubles = new Map(results.flatMap((one) => one.troubles.map((error) => [error.message, error])));
  return { hits: hits.slice(0, limit), source: "registry", troubles: [...troubles.values()] };
}
