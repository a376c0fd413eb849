import { definePlugin, type PluginFactory, type Tool } from "../../core/mod.ts";
import { answerDryRun } from "../../plugins/guard/dry-run.ts";
import { requestMeta } from "../../plugins/guard/request-meta.ts";
import type {} from "../../plugins/serve/rest.ts";
import { createFind, type Find } from "./find.ts";
import { type DiscoveryOptions, discoveryOptions, withEnvironment } from "./options.ts";
import { restOf } from "./rest-api.ts";

/** What the five tools need to know. */
export interface Discovery {
  readonly options: Required<DiscoveryOptions>;
  readonly find: Find;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `discovery` of the preset `gateway`. */
    discovery?: Discovery;
  }
}

/** Says how the five tools of the gateway answer. */
export const discovery: PluginFactory<
  "discovery",
  DiscoveryOptions,
  Required<DiscoveryOptions>
> = definePlugin({
  name: "discovery",
  keys: ["discovery"],
  options: discoveryOptions,
  setup(gateway, given) {
    gateway.services.discovery = { options: withEnvironment(given), find: createFind(gateway) };
    gateway.services.rest = restOf(gateway);
    return {
      // The guard shows it first, where it is on. Where it is off, a call that is only to be shown is still not made.
      execute: (call, next) => {
        const isShown = call.meta[requestMeta.dryRun] === true && call.tool && !call.tool.builtin;
        return isShown ? answerDryRun(call, call.tool as Tool, next) : next();
      },
    };
  },
});
