import { definePlugin, type Gateway } from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import type { Search } from "../../core/services/search.ts";
import { answerDryRun } from "../../plugins/guard/mod.ts";
import { followCatalog } from "../../plugins/lib/tool-index.ts";
import { getSearch } from "../shared/meta-tools.ts";
import { getAdapter, listLabels } from "./adapter-info.ts";
import { createIntentRanker } from "./intent-ranker.ts";
import { applyEnvironment, discoveryOptions, getSettings, setDiscovery } from "./options.ts";
import { createRestRoutes } from "./rest.ts";

/** Configures the five tools of the gateway and serves operations over REST. */
export const discovery = definePlugin({
  name: "discovery",
  uses: ["search?", "servers?", "adapters?", "results?", "rates?", "approvals?"],
  keys: ["discovery"],
  options: discoveryOptions,
  setup(gateway, settings) {
    setDiscovery(gateway, { settings: applyEnvironment(settings), search: createSearch(gateway) });
    for (const [path, route] of Object.entries(createRestRoutes(gateway))) {
      gateway.register("route", path, route);
    }
    return {
      // The guard answers dry runs first, where it is on. Without the guard, a dry run must not make the call either.
      execute(call, next) {
        const { tool } = call;
        const isDryRun = call.meta[requestMeta.dryRun] === true;
        return isDryRun && tool && !tool.builtin ? answerDryRun(call, tool, next) : next();
      },
    };
  },
});

/** Creates a search by the ranking of the specification. It reads changes of the catalog when it is next used. */
function createSearch(gateway: Gateway): Search {
  const labels = new Map<string, readonly string[]>();
  const ranker = createIntentRanker({ getLabels: ({ server }) => labels.get(server) ?? [] });
  const update = followCatalog(gateway.catalog, {
    update(server, tools) {
      if (tools.length > 0) labels.set(server, listLabels(getAdapter(gateway, server)));
      ranker.update(server, tools);
    },
  });
  return async (query, options) => {
    if (getSettings(gateway).ranking === "search") return getSearch(gateway)(query, options);
    update();
    return ranker.rank(query, options);
  };
}
