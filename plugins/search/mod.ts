import { type Drivers, definePlugin } from "../../core/mod.ts";
import { checkDriver, getDriverName } from "../lib/driver-choice.ts";
import { EMBEDDER_UNAVAILABLE, embedderDrivers, rankerDrivers } from "./drivers.ts";
import { searchOptions } from "./options.ts";
import type { ChosenDrivers, Searcher } from "./searcher.ts";

export { createRanker } from "./drivers.ts";
export type { Evidence } from "./fusion/relevance.ts";
export {
  type EmbeddingOptions,
  type FusionOptions,
  type KeywordField,
  type KeywordOptions,
  keywordDefaults,
  type RankerName,
  rankerNames,
  type SearchOptions,
} from "./options.ts";

/** Loads the parts of the ranker `fusion`, for training its relevance model. */
export async function loadFusion() {
  return { ...(await import("./fusion/ranker.ts")), ...(await import("./fusion/relevance.ts")) };
}

/** Loads the ranker `simple`, whose parts answer at once. */
export async function loadSimple() {
  return import("./simple.ts");
}

/** Provides the search over the catalog. Rankers are loaded, and changes of the catalog read, by the next search. */
export const search = definePlugin({
  name: "search",
  uses: ["cache?"],
  provides: ["search"],
  keys: ["search"],
  options: searchOptions,
  errors: { EMBEDDER_UNAVAILABLE },
  setup(gateway, options) {
    for (const [name, driver] of Object.entries(rankerDrivers)) gateway.register("ranker", name, driver);
    for (const [name, driver] of Object.entries(embedderDrivers)) gateway.register("embedder", name, driver);
    const names = {
      ranker: getDriverName(options.ranker ?? "fusion"),
      embedder: getDriverName(options.embedding?.embedder),
    };
    let drivers: ChosenDrivers = { ranker: undefined, embedder: undefined };
    let ready: Promise<Searcher> | undefined;
    const load = async (): Promise<Searcher> =>
      (await import("./searcher.ts")).createSearcher(gateway, options, drivers);
    gateway.provide("search", async (query, rankOptions) => {
      ready ??= load();
      return (await ready).search(query, rankOptions);
    });
    return {
      // Here and not with the first search: a wrong name or path is a mistake in the config.
      async ready() {
        drivers = {
          ranker: await getDriver("ranker", names.ranker),
          embedder: await getDriver("embedder", names.embedder),
        };
      },
      async close() {
        // A searcher that could not be created has nothing to store.
        const searcher = await ready?.catch(() => undefined);
        await searcher?.close();
      },
    };

    async function getDriver<K extends "ranker" | "embedder">(
      kind: K,
      name: string | undefined,
    ): Promise<Drivers[K] | undefined> {
      if (name === undefined) return undefined;
      const driver = await gateway.driver(kind, name);
      checkDriver(kind, name, driver);
      return driver;
    }
  },
});
