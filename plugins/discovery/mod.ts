/**
 * Discovers the tools and resources of servers: those of the user, and those that a registry names (spec 004). Writes
 * tools to files that are promoted once they are approved.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, GatewayError, type Hooks, type Plugin } from "../../core/mod.ts";
import type { Cache } from "../../core/services/cache.ts";
import { option } from "../lib/options.ts";
import { SCHEMA_CONVERSION_FAILED, SESSION_INIT_FAILED, TOOLS_LIST_FAILED } from "./errors.ts";
import type { ServerDiscovery } from "./gateway-discovery.ts";
import { rateLimitSchema } from "./options.ts";
import type { ToolCache } from "./tool-cache.ts";

export type { RetryPolicy } from "../lib/backoff.ts";
export {
  type DiscoveryProvider,
  discoveryProvider,
  type RuntimeDiscovery,
  runtimeDiscovery,
} from "./callers.ts";
export { capabilities } from "./capability-files/capabilities.ts";
export {
  type DiscoveredServer,
  type DiscoveredTool,
  type DiscoveryFailure,
  type DiscoveryOutcome,
  type DiscoveryStep,
  type DiscoveryStepName,
  discoverySteps,
  type NamedCapability,
  type Registration,
} from "./discovered.ts";
export { type DiscoveryFault, discoveryFaults, findFault } from "./errors.ts";
export type { CapabilitySearch, CapableServer, RegistryServer } from "./find-servers.ts";
export type { ServerDiscovery } from "./gateway-discovery.ts";
export type { DiscoveryOptions, RateLimitConfig, ServerProgress } from "./options.ts";
export type {
  CapabilityRegister,
  DiscoveryService,
  RegistryMatches,
  ServerRegistration,
  WarmStatistics,
} from "./service.ts";
export type { ToolCache } from "./tool-cache.ts";

/** Opens a cache of discovered tools in a cache. Tools are kept for a day, or for the time that the environment sets. */
export async function openToolCache(
  cache: Pick<Cache, "get" | "set" | "clear">,
  ttlMs?: number,
): Promise<ToolCache> {
  const { createToolCache } = await import("./tool-cache.ts");
  return createToolCache(cache, ttlMs);
}

declare module "../../core/services/mod.ts" {
  interface Services {
    /** Provided by `server-discovery`. */
    serverDiscovery: ServerDiscovery;
  }
}

const options = v.strictObject({
  rateLimits: option(v.record(v.string(), rateLimitSchema), "Rate limits of single servers, by name."),
  warm: option(v.boolean(), "Whether all servers are discovered at the start, in the background.", false),
  allowPrivate: option(
    v.boolean(),
    "Whether servers that a registry names may have a private address.",
    false,
  ),
  authHeaders: option(
    v.record(v.string(), v.string()),
    "Headers for every server that is discovered, which replace those of the same name in its definition.",
  ),
  tools: option(
    v.boolean(),
    "Whether agents get the tools `ccos_introspect_remote_api` and `ccos_register_server`.",
    false,
  ),
});

/** Options of the plugin `server-discovery`. */
export type ServerDiscoveryOptions = v.InferInput<typeof options>;

/** Sets up the tools by which an agent introspects servers and adds approved ones. */
async function setUpTools(gateway: Parameters<Plugin["setup"]>[0]): Promise<Partial<Hooks> | undefined> {
  const { createDiscoveryTools } = await import("./discovery-tools.ts");
  return (await createDiscoveryTools().setup(gateway)) ?? undefined;
}

/** Lets other plugins and commands discover servers. */
export const serverDiscovery = definePlugin({
  name: "server-discovery",
  // The servers are known once `upstreams` is ready.
  order: "post",
  uses: ["servers?", "cache?", "registries?", "approvals?", "state?"],
  provides: ["serverDiscovery"],
  options,
  errors: { SESSION_INIT_FAILED, TOOLS_LIST_FAILED, SCHEMA_CONVERSION_FAILED },
  async setup(gateway, { warm, tools, ...limits }) {
    const { createGatewayDiscovery } = await import("./gateway-discovery.ts");
    const service = createGatewayDiscovery(gateway, limits);
    gateway.provide("serverDiscovery", service);
    const life = new AbortController();
    let warming: Promise<unknown> | undefined;
    const own = tools ? await setUpTools(gateway) : undefined;
    return {
      ...own,
      async ready() {
        await own?.ready?.();
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
