import type { Gateway, GatewayError } from "../../core/mod.ts";
import type { Registries, RegistryEntry, RegistryResult } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import { splitWords, stopWords } from "../lib/text/words.ts";
import type { RegistryClient } from "./client.ts";
import { createMirror, type Mirror, type MirrorParts } from "./mirror.ts";
import { createRegistryIndex, createRegistryRanker, type RegistryHit } from "./rank.ts";

/**
 * Searches the registries: in their copy on this machine if there is one and it may be used, else in the registries
 * themselves.
 */
export async function searchRegistries(
  client: RegistryClient,
  gateway: Pick<Gateway, "drivers">,
  shared: MirrorParts["shared"],
  ...[query, { useCache = true, limit = 20, signal } = {}]: Parameters<Registries["search"]>
): Promise<RegistryResult> {
  const options: FindOptions = { limit, ranker: () => createRegistryRanker(gateway), signal };
  const remote: RegistryClient = {
    ...client,
    search: (text, given) => client.search(text, { ...given, useCache }),
  };
  const local = useCache ? await findLocal(createMirror({ client, shared }), query, options) : undefined;
  const { hits, troubles, leftOut } = local ?? (await findRemote(remote, query, options));
  return { entries: hits.map(({ entry }) => entry), troubles, leftOut };
}

/** Result of a search for servers. */
export interface FoundServers {
  readonly hits: readonly RegistryHit[];
  /** Number of further hits that the limit left out. */
  readonly leftOut: number;
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
/** Most hits that are counted. */
const MOST_HITS = 1_000;

/** Searches the copy on this machine; undefined if there is none. */
export async function findLocal(
  mirror: Mirror,
  query: string,
  { limit, ranker }: FindOptions,
): Promise<FoundServers | undefined> {
  const content = await mirror.read();
  if (!content) return undefined;
  const { entries, syncedAt } = content;
  const all = await createRegistryIndex(entries, await ranker()).rank(query, MOST_HITS);
  const known = { servers: entries.length, syncedAt };
  return { ...cut(all, limit), source: "mirror", known, troubles: [] };
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
  const words = [...new Set(splitWords(query))].filter((word) => word.length > 2 && !stopWords.has(word));
  const texts = [query.trim(), ...(words.length > 1 ? words.slice(0, MOST_WORDS) : [])];
  // As many as are counted, so that what the limit leaves out is known.
  const results = await Promise.all(texts.map((text) => client.search(text, { limit: MOST_HITS, signal })));
  const [whole] = results;
  const all = new Map<string, RegistryEntry>();
  for (const { entries } of results)
    for (const entry of entries) if (!all.has(entry.name)) all.set(entry.name, entry);
  const ranked = await createRegistryIndex([...all.values()], await ranker()).rank(query, MOST_HITS);
  const names = new Set(ranked.map(({ entry }) => entry.name));
  // A name that contains the query is a hit, whatever its rank.
  const literal = (whole?.entries ?? []).filter(({ name }) => !names.has(name));
  const hits = [...ranked, ...literal.map((entry) => ({ entry, relevance: LEAST_RELEVANCE }))];
  const troubles = new Map(results.flatMap((one) => one.troubles.map((error) => [error.message, error])));
  return { ...cut(hits, limit), source: "registry", troubles: [...troubles.values()] };
}

function cut(all: readonly RegistryHit[], limit: number): Pick<FoundServers, "hits" | "leftOut"> {
  return { hits: all.slice(0, limit), leftOut: Math.max(0, all.length - limit) };
}
