import type { GatewayError } from "../../core/mod.ts";
import { stopWords, wordsOf } from "../search/text.ts";
import type { RegistryClient } from "./client.ts";
import type { RegistryEntry } from "./entry.ts";
import type { Mirror } from "./mirror.ts";
import { type RegistryHit, registryIndex } from "./rank.ts";

/** The servers that fit a query, and where they were looked for. */
export interface FoundServers {
  readonly hits: readonly RegistryHit[];
  /** Whether the copy on this machine was searched, or the registries themselves. */
  readonly source: "mirror" | "registry";
  /** How many servers the copy has, and when it was made. */
  readonly known?: { readonly servers: number; readonly syncedAt: number | undefined };
  /** Why some registries could not be asked. */
  readonly troubles: readonly GatewayError[];
}

/** What servers are looked for with. */
export interface FindOptions {
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

/** Each word is a request. */
const MOST_WORDS = 4;
const LEAST_RELEVANCE = 0.01;

/** Searches the copy on this machine; nothing where there is none. */
export async function findLocal(
  mirror: Mirror,
  query: string,
  { limit }: FindOptions,
): Promise<FoundServers | undefined> {
  const content = await mirror.read();
  if (!content) return undefined;
  const { entries, syncedAt } = content;
  const hits = await (await registryIndex(entries)).rank(query, limit);
  return { hits, source: "mirror", known: { servers: entries.length, syncedAt }, troubles: [] };
}

/**
 * Searches the registries themselves. They look for a text as it is in names, so they are asked for each word too, and
 * what they find is ranked here.
 */
export async function findRemote(
  client: RegistryClient,
  query: string,
  { limit, signal }: FindOptions,
): Promise<FoundServers> {
  const words = [...new Set(wordsOf(query))].filter((word) => word.length > 2 && !stopWords.has(word));
  const texts = [query.trim(), ...(words.length > 1 ? words.slice(0, MOST_WORDS) : [])];
  const results = await Promise.all(texts.map((text) => client.search(text, { signal })));
  const [whole] = results;
  const all = new Map<string, RegistryEntry>();
  for (const { entries } of results)
    for (const entry of entries) if (!all.has(entry.name)) all.set(entry.name, entry);
  const ranked = await (await registryIndex([...all.values()])).rank(query, limit);
  const names = new Set(ranked.map(({ entry }) => entry.name));
  // What holds the very text was asked for, whatever else it says.
  const literal = (whole?.entries ?? []).filter(({ name }) => !names.has(name));
  const hits = [...ranked, ...literal.map((entry) => ({ entry, relevance: LEAST_RELEVANCE }))];
  const troubles = new Map(results.flatMap((one) => one.troubles.map((error) => [error.message, error])));
  return { hits: hits.slice(0, limit), source: "registry", troubles: [...troubles.values()] };
}
