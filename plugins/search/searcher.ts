import type { Gateway, JsonObject } from "../../core/mod.ts";
import type {
  Embedder,
  EmbedderDriver,
  Hit,
  Ranker,
  RankerDriver,
  Ranking,
  RankOptions,
} from "../../core/services/search.ts";
import { checkDriverFields, getDriverName, getDriverOptions } from "../lib/driver-choice.ts";
import { followCatalog } from "../lib/tool-index.ts";
import { rankerDrivers, rankerFields } from "./drivers.ts";
import { createSnapshotStore } from "./index-snapshot.ts";
import { rankerNames, type SearchOptions } from "./options.ts";

/** Number of hits where a search has no limit. */
const DEFAULT_LIMIT = 10;

/** Searches the catalog of one gateway. */
export interface Searcher {
  search(query: string, options?: RankOptions): Promise<Ranking>;
  /** Stores the index snapshot. */
  close(): Promise<void>;
}

/** The drivers that the options name. */
export interface ChosenDrivers {
  readonly ranker: RankerDriver | undefined;
  readonly embedder: EmbedderDriver | undefined;
}

/** Creates the ranker and restores its index snapshot; the catalog is read by the first search. */
export async function createSearcher(
  gateway: Pick<Gateway, "catalog" | "configFile" | "report" | "services">,
  options: SearchOptions,
  drivers: ChosenDrivers,
): Promise<Searcher> {
  const { cache } = gateway.services;
  const store = cache && createSnapshotStore(cache, gateway.configFile ?? process.cwd());
  // Read while the modules of the ranker load.
  const stored = store?.read();
  const embedder = await createEmbedder(options.embedding?.embedder, drivers.embedder);
  const ranker = await createChosenRanker(options, drivers.ranker, {
    embedder,
    cache,
    onTrouble: gateway.report,
  });
  const bytes = await stored;
  if (bytes) restore(ranker, bytes);
  const update = followCatalog(gateway.catalog, ranker);
  const findDisabled = createDisabledSearch(gateway.catalog, options, drivers.ranker);
  return {
    async search(query, { countDisabled = false, ...rankOptions } = {}) {
      if (update() && ranker.snapshot) store?.schedule(ranker.snapshot, gateway.catalog.tools().length);
      const ranking = await ranker.rank(query, rankOptions);
      if (!countDisabled) return ranking;
      return {
        ...ranking,
        disabled: countRivals(ranking, await findDisabled(query, rankOptions), rankOptions),
      };
    },
    close: async () => store?.close(),
  };
}

/** Searches the disabled tools with an index of their own: in that of the others they would change the scores of all. */
function createDisabledSearch(
  catalog: Gateway["catalog"],
  options: SearchOptions,
  driver: RankerDriver | undefined,
): (query: string, rankOptions: RankOptions) => Promise<readonly Hit[]> {
  let own: Promise<{ readonly ranker: Ranker; readonly update: () => boolean }> | undefined;
  let revision = -1;
  let hasAny = false;
  const create = async () => {
    const isBuiltIn =
      driver !== undefined && rankerNames.some((name) => name === (options.ranker ?? "fusion"));
    // A ranker or an embedder of the user's own may cost money; the built-in ones are good enough to count.
    const ranker = await (isBuiltIn ? driver : rankerDrivers.keyword)(options as JsonObject, {});
    return { ranker, update: followCatalog(catalog, ranker, false) };
  };
  return async (query, { server, limit }) => {
    if (revision !== catalog.revision) hasAny = catalog.tools().some(({ enabled }) => !enabled);
    revision = catalog.revision;
    if (!hasAny) return [];
    own ??= create();
    const { ranker, update } = await own;
    update();
    return (await ranker.rank(query, { server, limit })).hits;
  };
}

/** Counts the hits among disabled tools that would be in a ranking. */
function countRivals(
  { hits }: Ranking,
  disabled: readonly Hit[],
  { limit = DEFAULT_LIMIT }: RankOptions,
): number {
  const least = hits.length < limit ? 0 : (hits.at(-1)?.relevance ?? 0);
  return disabled.filter(({ relevance }) => relevance >= least).length;
}

async function createEmbedder(
  choice: NonNullable<SearchOptions["embedding"]>["embedder"],
  driver: EmbedderDriver | undefined,
): Promise<Embedder | undefined> {
  if (driver) return driver(getDriverOptions(choice));
  return choice as Embedder | undefined;
}

async function createChosenRanker(
  options: SearchOptions,
  driver: RankerDriver | undefined,
  parts: Parameters<RankerDriver>[1],
): Promise<Ranker> {
  const { ranker } = options;
  if (!driver) return ranker as Ranker;
  const isBuiltIn = rankerNames.some((name) => name === (ranker ?? "fusion"));
  // A ranker of one's own gets its own options, and not those of the built-in ones.
  if (isBuiltIn) return driver(options as JsonObject, parts);
  const created = await driver(getDriverOptions(ranker), parts);
  checkDriverFields("ranker", getDriverName(ranker) ?? "", created, rankerFields);
  return created;
}

/** Loads a snapshot. Whatever is wrong with it, the tools can still be read. */
function restore(ranker: Ranker, bytes: Uint8Array): void {
  try {
    ranker.snapshot?.load(bytes);
  } catch {
    // Written by another version, or by another program.
  }
}
