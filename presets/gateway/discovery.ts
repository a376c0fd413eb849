import { type Catalog, definePlugin, type Gateway, type PluginFactory, type Tool } from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { answerDryRun } from "../../plugins/guard/mod.ts";
import { createFind, type Find } from "./find.ts";
import { type DiscoveryOptions, discoveryOptions, withEnvironment } from "./options.ts";
import { createRestRoutes } from "./rest.ts";

/** What the five tools need to know. */
export interface Discovery {
  readonly options: Required<DiscoveryOptions>;
  readonly find: Find;
}

/** By the catalog of a gateway: each plugin sees the gateway through an object of its own. */
const byCatalog = new WeakMap<Catalog, Discovery>();

/** The options and the search of the five tools, where the plugin `discovery` is there. */
export function discoveryOf({ catalog }: Pick<Gateway, "catalog">): Discovery | undefined {
  return byCatalog.get(catalog);
}

/** Says how the five tools of the gateway answer. */
export const discovery: PluginFactory<
  "discovery",
  DiscoveryOptions,
  Required<DiscoveryOptions>
> = definePlugin({
  name: "discovery",
  uses: ["search?", "servers?", "adapters?", "results?", "rates?", "approvals?"],
  keys: ["discovery"],
  options: discoveryOptions,
  setup(gateway, given) {
    byCatalog.set(gateway.catalog, { options: withEnvironment(given), find: createFind(gateway) });
    for (const [path, route] of Object.entries(createRestRoutes(gateway))) {
      gateway.register("route", path, route);
    }
    return {
      // The guard shows it first, where it is on. Where it is off, a call that is only to be shown is still not made.
      execute: (call, next) => {
        const isShown = call.meta[requestMeta.dryRun] === true && call.tool && !call.tool.builtin;
        return isShown ? answerDryRun(call, call.tool as Tool, next) : next();
      },
    };
  },
});
