import type { Gateway } from "../../core/mod.ts";
import type { Ranking, RankOptions } from "../../core/services/search.ts";
import { followCatalog } from "../../plugins/lib/catalog-updates.ts";
import { searchOf } from "../_answers.ts";
import { adapterInfo } from "./adapter-info.ts";
import { labelsOf } from "./facts.ts";
import { intentRanker } from "./intent-ranker.ts";
import { optionsOf } from "./options-of.ts";

/** Finds the operations that fit a task. */
export type Find = (query: string, options?: RankOptions) => Promise<Ranking>;

/** Finds operations by the ranking of the specification. What has changed is taken in when it is next asked. */
export function createFind(gateway: Gateway): Find {
  const labels = new Map<string, readonly string[]>();
  const ranker = intentRanker({ labelsOf: ({ server }) => labels.get(server) ?? [] });
  const update = followCatalog(gateway.catalog, {
    update(server, tools) {
      if (tools.length > 0) labels.set(server, labelsOf(adapterInfo(gateway, server)));
      ranker.update(server, tools);
    },
  });

  return async (query, options) => {
    if (optionsOf(gateway).ranking === "search") return searchOf(gateway)(query, options);
    update();
    return ranker.rank(query, options);
  };
}
