import type { Gateway, JsonObject } from "../../core/mod.ts";
import type {
  Embedder,
  EmbedderDriver,
  Ranker,
  RankerDriver,
  Ranking,
  RankOptions,
} from "../../core/services/search.ts";
import { getDriverOptions } from "../lib/driver-choice.ts";
import { followCatalog } from "../lib/tool-index.ts";
import { createSnapshotStore } from "./index-snapshot.ts";
import { rankerNames, type SearchOptions } from "./options.ts";

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
  return {
    async search(query, rankOptions) {
      if (update() && ranker.snapshot) store?.schedule(ranker.snapshot, gateway.catalog.tools().length);
      return ranker.rank(query, rankOptions);
    },
    close: async () => store?.close(),
  };
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
  return driver(isBuiltIn ? (options as JsonObject) : getDriverOptions(ranker), parts);
}

/** Loads a snapshot. Whatever is wrong with it, the tools can still be read. */
function restore(ranker: Ranker, bytes: Uint8Array): void {
  try {
    ranker.snapshot?.load(bytes);
  } catch {
    // Written by another version, or by another program.
  }
}
