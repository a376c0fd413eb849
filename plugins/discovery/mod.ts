/**
 * Discovers the tools and resources of servers: those of the user, and those that a registry names (spec 004). Writes
 * tools to files that are promoted once they are approved.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, GatewayError, type PluginFactory } from "../../core/mod.ts";
import type { ServerDiscovery } from "./gateway-discovery.ts";
import { type RateLimitConfig, rateLimitSchema } from "./options.ts";

export type { RetryPolicy } from "../lib/backoff.ts";
export {
  type DiscoveryProvider,
  discoveryProvider,
  type RuntimeDiscovery,
  runtimeDiscovery,
} from "./callers.ts";
export { capabilities } from "./capability-files/capabilities.ts";
export type { WarmStatistics } from "./discover-many.ts";
export {
  type DiscoveredServer,
  type DiscoveredTool,
  type DiscoveryFailure,
  type DiscoveryOutcome,
  type DiscoveryStep,
  type DiscoveryStepName,
  discoverySteps,
  type NamedCapability,
} from "./discovered.ts";
export { type DiscoveryFault, discoveryFaults, findFault } from "./errors.ts";
export type { CapabilitySearch, CapableServer } from "./find-capability.ts";
export type { ServerDiscovery } from "./gateway-discovery.ts";
export type { DiscoveryOptions, RateLimitConfig, ServerProgress } from "./options.ts";
export type { RegistryServer } from "./registry-search.ts";
export type { CapabilityRegister, DiscoveryService } from "./service.ts";
export type { ToolCache } from "./tool-cache.ts";

declare module "../../core/services/mod.ts" {
  interface Services {
    /** Provided by `server-discovery`. */
    serverDiscovery: ServerDiscovery;
  }
}

/** Options for the server-discovery plugin. */
export interface ServerDiscoveryOptions {
  /** Rate limits of single servers, by name. */
  readonly rateLimits?: Readonly<Record<string, RateLimitConfig>>;
  /** Whether all servers are discovered at the start, in the background; false by default. */
  readonly warm?: boolean;
  /** Whether servers that a registry names may have a private address; false by default. */
  readonly allowPrivate?: boolean;
}

interface Checked extends ServerDiscoveryOptions {
  readonly warm: boolean;
  readonly allowPrivate: boolean;
}

const options = v.strictObject({
  rateLimits: v.optional(v.record(v.string(), rateLimitSchema)),
  warm: v.optional(v.boolean(), false),
  allowPrivate: v.optional(v.boolean(), false),
});

/** Lets other plugins and commands discover servers. */
export const serverDiscovery: PluginFactory<"server-discovery", ServerDiscoveryOptions, Checked> =
  definePlugin({
    name: "server-discovery",
    // The servers are known once `upstreams` is ready.
    order: "post",
    uses: ["servers?", "cache?", "registries?"],
    provides: ["serverDiscovery"],
    options: options as v.GenericSchema<ServerDiscoveryOptions, Checked>,
    async setup(gateway, { warm, ...limits }) {
      const { createGatewayDiscovery } = await import("./gateway-discovery.ts");
      const service = createGatewayDiscovery(gateway, limits);
      gateway.provide("serverDiscovery", service);
      const life = new AbortController();
      let warming: Promise<unknown> | undefined;
      return {
        ready() {
          if (!warm) return;
          warming = service
            .warmCacheForAllConfiguredServers({ signal: life.signal })
            .catch((thrown: unknown) => {
              if (!life.signal.aborted) gateway.report(GatewayError.from(thrown));
            });
        },
        async close() {
          life.abort(new GatewayError("CLOSED", "The gateway is closing."));
          await warming;
        },
      };
    },
  });
