import { definePlugin, type Gateway } from "../../core/mod.ts";
import type { Mode } from "../../core/services/mode.ts";
import { requestMeta } from "../../core/services/policy.ts";
import type { Search } from "../../core/services/search.ts";
import { answerDryRun } from "../../plugins/guard/mod.ts";
import { followCatalog } from "../../plugins/lib/tool-index.ts";
import { getSearch } from "../shared/meta-tools.ts";
import { getAdapter, listLabels } from "./adapter-info.ts";
import { TOOL_ERROR } from "./failure.ts";
import { createIntentRanker } from "./intent-ranker.ts";
import { listLiveOperations } from "./operations.ts";
import { applyEnvironment, discoveryOptions, getSettings, setDiscovery } from "./options.ts";
import { listRegistryFaults } from "./registry-plugin.ts";
import { createRestRoutes } from "./rest.ts";

/** Configures the five tools of the gateway and serves operations over REST. */
export const discovery = definePlugin({
  name: "discovery",
  uses: ["search?", "servers?", "adapters?", "results?", "rates?", "approvals?"],
  provides: ["mode"],
  keys: ["discovery"],
  errors: { TOOL_ERROR },
  options: discoveryOptions,
  setup(gateway, settings) {
    setDiscovery(gateway, { settings: applyEnvironment(settings), ...createSearch(gateway) });
    gateway.provide("mode", () => describeMode(gateway));
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

/** Describes the mode. A registry that differs from the operations switches `gateway.intent` off. */
function describeMode(gateway: Gateway): Mode {
  const operations = listLiveOperations(gateway).size;
  if (getSettings(gateway).mode === "full") {
    return { name: "full", describe: () => `MCP Full Mode: ${operations} tools registered, for debugging` };
  }
  const five = `${gateway.tools.length} meta-tools registered, ${operations} operations behind them`;
  const [fault] = listRegistryFaults(gateway);
  return fault === undefined
    ? { name: "lazy", describe: () => `MCP Discovery Layer: ${five}` }
    : {
        name: "degraded",
        describe: () => `MCP Discovery Layer, degraded: ${five}; gateway.intent is off. ${fault}`,
      };
}

/** Creates a search by the ranking of the specification. It reads changes of the catalog when it is next used. */
function createSearch(gateway: Gateway): { search: Search; isWord: (word: string) => boolean } {
  const labels = new Map<string, readonly string[]>();
  const ranker = createIntentRanker({ getLabels: ({ server }) => labels.get(server) ?? [] });
  const update = followCatalog(gateway.catalog, {
    update(server, tools) {
      if (tools.length > 0) labels.set(server, listLabels(getAdapter(gateway, server)));
      ranker.update(server, tools);
    },
  });
  return {
    async search(query, options) {
      if (getSettings(gateway).ranking === "search") return getSearch(gateway)(query, options);
      update();
      return ranker.rank(query, options);
    },
    isWord(word) {
      update();
      return ranker.isWord(word);
    },
  };
}
