import * as v from "valibot";
import { definePlugin, type MaybePromise, type PluginFactory } from "../../core/mod.ts";
import { type EmbeddingOptions, embeddingOptions } from "./embedding/options.ts";
import type { EmbeddingParts } from "./embedding.ts";
import { type FusionOptions, fusionOptions } from "./fusion/options.ts";
import { type HistoryOptions, historyOptions } from "./history/options.ts";
import { createKeeper, type Keeper } from "./keeping/keeper.ts";
import { type KeywordOptions, keywordOptions } from "./keyword/options.ts";
import { keywordRanker } from "./keyword.ts";
import type { Ranker, Ranking, RankOptions } from "./ranker.ts";
import { simpleRanker } from "./simple.ts";
import { tagRanker } from "./tag.ts";
import { updater } from "./updater.ts";

export type { Embedder, EmbeddingOptions } from "./embedding.ts";
export type { FusionOptions } from "./fusion.ts";
export type { HistoryOptions } from "./history.ts";
export { type KeywordField, type KeywordOptions, keywordDefaults, keywordRanker } from "./keyword.ts";
export type { Explanation, Hit, MatchedTerm, Ranker, Ranking, RankOptions } from "./ranker.ts";
export { simpleRanker } from "./simple.ts";
export { tagRanker } from "./tag.ts";

/** Searches the catalog. */
export type Search = (query: string, options?: RankOptions) => Promise<Ranking>;

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `search`. */
    search?: Search;
  }
}

/** The rankers that come with toolpipe, by name. What is large is loaded by its own when it is first used. */
const rankers = {
  fusion: async (options: SearchOptions, parts: RankerParts): Promise<Ranker> => {
    const { fusionRanker } = await import("./fusion.ts");
    const embedding = { ...options.embedding, ...parts };
    return fusionRanker({ ...options.fusion, keyword: options.keyword, embedding });
  },
  embedding: async (options: SearchOptions, parts: RankerParts): Promise<Ranker> => {
    const { embeddingRanker } = await import("./embedding.ts");
    return embeddingRanker({ ...options.embedding, ...parts });
  },
  keyword: ({ keyword }: SearchOptions): MaybePromise<Ranker> => keywordRanker(keyword),
  tag: (): MaybePromise<Ranker> => tagRanker(),
  simple: (): MaybePromise<Ranker> => simpleRanker(),
};

/** The name of a ranker that comes with toolpipe. */
export type RankerName = keyof typeof rankers;

/** The names of the rankers that come with toolpipe. */
export const rankerNames: readonly RankerName[] = Object.keys(rankers) as RankerName[];

/** Makes a ranker by its name. */
export function rankerNamed(
  name: RankerName,
  options: SearchOptions = {},
  parts: RankerParts = {},
): MaybePromise<Ranker> {
  return rankers[name](options, parts);
}

/** What a ranker may use of the gateway it works for. */
export type RankerParts = Pick<EmbeddingParts, "cache" | "onTrouble">;

/** The options of {@link search}. */
export interface SearchOptions {
  /** A ranker, or the name of one; `fusion` by default. */
  readonly ranker?: RankerName | Ranker | undefined;
  /** How words, meaning and tags are put together. */
  readonly fusion?: FusionOptions | undefined;
  /** How meaning is searched. */
  readonly embedding?: EmbeddingOptions | undefined;
  /** How keyword search counts. */
  readonly keyword?: KeywordOptions | undefined;
  /** Whether tools come sooner that like searches led to before, and how much of that is remembered; false by default. */
  readonly history?: boolean | HistoryOptions | undefined;
}

const options = v.strictObject({
  ranker: v.optional(
    v.union(
      [
        v.picklist(rankerNames),
        v.custom<Ranker>((value) => typeof (value as Partial<Ranker> | null)?.rank === "function"),
      ],
      `a ranker, or the name of one (${rankerNames.join(", ")})`,
    ),
  ),
  fusion: v.optional(fusionOptions),
  embedding: v.optional(embeddingOptions),
  keyword: v.optional(keywordOptions),
  history: v.optional(historyOptions),
});

/** Has a ranker take in what was kept. Whatever is wrong with that, the tools are still there to be read. */
function take(ranker: Ranker, bytes: Uint8Array): void {
  try {
    ranker.keeping?.load(bytes);
  } catch {
    // Written by another version, or by somebody else.
  }
}

/** Lets other plugins and meta-tools search the catalog. What has changed is taken in when it is next asked. */
export const search: PluginFactory<"search", SearchOptions> = definePlugin({
  name: "search",
  options: options as v.GenericSchema<SearchOptions, SearchOptions>,
  async setup(gateway, given) {
    const { ranker = "fusion", history = false } = given;
    const past = history && (await import("./history.ts")).watchGateway(gateway, history);
    let ready: Promise<Ranker> | undefined;
    let keeper: Keeper | undefined;
    const prepare = async (): Promise<Ranker> => {
      const { cache } = gateway.services;
      keeper = cache && createKeeper(cache, gateway.configFile ?? process.cwd());
      const kept = keeper?.read();
      const parts = { cache, onTrouble: gateway.report };
      const made = typeof ranker === "string" ? await rankerNamed(ranker, given, parts) : ranker;
      const bytes = await kept;
      if (bytes) take(made, bytes);
      const update = updater(gateway, made);
      const current: Ranker = {
        name: made.name,
        update: (server, tools) => made.update(server, tools),
        rank(query, rankOptions) {
          if (update() && made.keeping) keeper?.note(made.keeping, gateway.catalog.tools().length);
          return made.rank(query, rankOptions);
        },
      };
      return past ? past.ranker(current) : current;
    };
    gateway.services.search = async (query, rankOptions) => {
      ready ??= prepare();
      const ranking = await (await ready).rank(query, rankOptions);
      if (past) past.searched(query, ranking);
      return ranking;
    };
    return {
      ...(past ? past.hooks : {}),
      async close() {
        await keeper?.close();
        if (past) await past.hooks.close?.();
      },
    };
  },
});
