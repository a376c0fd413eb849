/**
 * Finds out what servers offer: those that a person has, and those that a registry knows.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type Gateway, GatewayError, type PluginFactory } from "../../core/mod.ts";
import { CACHE_UNAVAILABLE } from "../cache/mod.ts";
import { inferCategories } from "../domains/categories.ts";
import { inferDomains } from "../domains/domains.ts";
import { exportRtfs } from "../export/export-rtfs.ts";
import { createRegistryClient } from "../registry/client.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { rtfs } from "../types/rtfs.ts";
import type {} from "../upstreams/mod.ts";
import { outputIntrospection } from "./introspect-output.ts";
import { type RateLimitConfig, rateLimitSchema } from "./options.ts";
import { rankedRegistry } from "./registry-search.ts";
import { createDiscoveryService, type DiscoveryParts, type DiscoveryService } from "./service.ts";
import { type ToolCache, toolCache, toolCacheSettings } from "./tool-cache.ts";

export type { RetryPolicy } from "../retry/backoff.ts";
export {
  type DiscoveryProvider,
  discoveryProvider,
  type RuntimeDiscovery,
  runtimeDiscovery,
} from "./callers.ts";
export type {
  CapabilityManifest,
  DiscoveredServer,
  DiscoveredTool,
  DiscoveryFailure,
  DiscoveryOutcome,
} from "./discovered.ts";
export type { Enriching, IntrospectContext, IntrospectOutput } from "./enrich.ts";
export { type DiscoveryFault, discoveryFaults, faultOf } from "./errors.ts";
export type { CapabilitySearch, FoundServer } from "./find-capability.ts";
export { capabilityId } from "./manifest.ts";
export type {
  DiscoveryOptions,
  RateLimitConfig,
  ServerListing,
  ServerProgress,
} from "./options.ts";
export type { RegistrySearch, RegistryServer } from "./registry-search.ts";
export {
  type CapabilityRegister,
  createDiscoveryService,
  type DiscoveryParts,
  type DiscoveryService,
} from "./service.ts";
export { type DiscoveryStep, type DiscoveryStepName, discoverySteps } from "./steps.ts";
export { type ToolCache, toolCache, toolCacheSettings } from "./tool-cache.ts";
export type { WarmStatistics } from "./warm-statistics.ts";

/** The service that the plugin offers, with what it remembers. */
export interface ServerDiscovery extends DiscoveryService {
  readonly cache: ToolCache;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `server-discovery`. */
    serverDiscovery?: ServerDiscovery;
  }
}

/** The options of {@link serverDiscovery}. */
export interface ServerDiscoveryOptions {
  /** Base URLs of registries, the most trusted first; those in `TOOLPIPE_REGISTRIES`, or the official one, by default. */
  readonly registries?: readonly string[];
  /** How often single servers may be asked, by name. */
  readonly rateLimits?: Readonly<Record<string, RateLimitConfig>>;
  /** Whether all servers are asked at the start, in the background; false by default. */
  readonly warm?: boolean;
  /** Whether servers that a registry names may be on this machine or in a private network; false by default. */
  readonly allowPrivate?: boolean;
}

interface Checked extends ServerDiscoveryOptions {
  readonly warm: boolean;
  readonly allowPrivate: boolean;
}

const options = v.strictObject({
  registries: v.optional(v.array(v.string())),
  rateLimits: v.optional(v.record(v.string(), rateLimitSchema)),
  warm: v.optional(v.boolean(), false),
  allowPrivate: v.optional(v.boolean(), false),
});

/** What every discovery service of ours has to make more of tools. */
export const enriching: Pick<DiscoveryParts, "emitType" | "inferDomains"> = {
  emitType: (schema) => rtfs.type(schema),
  inferDomains: (server, tool) => ({
    domains: inferDomains(server, tool.name),
    categories: inferCategories(tool.name, tool),
  }),
};

/** Lets other plugins and commands find out what servers offer. */
export const serverDiscovery: PluginFactory<"server-discovery", ServerDiscoveryOptions, Checked> =
  definePlugin({
    name: "server-discovery",
    // Only after `upstreams` is ready is it known which servers there are.
    order: "post",
    options: options as v.GenericSchema<ServerDiscoveryOptions, Checked>,
    async setup(gateway, { registries, rateLimits, warm, allowPrivate }) {
      const { services } = gateway;
      const { folder, ...lasting } = toolCacheSettings();
      // Who switches the cache off wants nothing to be kept.
      const isOff = gateway.plugins.includes("cache") && !gateway.services.cache;
      const cache = await toolCache({
        ...lasting,
        ...(!isOff && { folder }),
        onTrouble: (cause) => gateway.report(unavailable(folder, cause)),
      });
      const named = registries ?? namedRegistries();
      const client = createRegistryClient(named ? { registries: named } : {}, { cache: cache.registry });
      const service = createDiscoveryService({
        ...enriching,
        cache,
        registry: rankedRegistry(client, services.state?.manyMachines ? services.cache : undefined),
        rateLimits,
        allowPrivate,
        configuredServers: () => connectable(gateway),
        introspectOutput: outputIntrospection(gateway),
        exportAll: exportRtfs,
      });
      gateway.services.serverDiscovery = { ...service, cache };
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

/** The servers that may be connected to: not those that wait for approval or are switched off. */
export function connectable(gateway: Gateway): readonly ServerConfig[] {
  const statuses = gateway.services.upstreams?.statuses() ?? [];
  return statuses.flatMap(({ status, config }) =>
    status === "needs-approval" || config.disabled ? [] : [config],
  );
}

function namedRegistries(): readonly string[] | undefined {
  const named = (process.env["TOOLPIPE_REGISTRIES"] ?? "").split(/[\s,]+/).filter(Boolean);
  return named.length > 0 ? named : undefined;
}

function unavailable(folder: string, cause: unknown): GatewayError {
  const { code } = cause as NodeJS.ErrnoException;
  const message = `What servers offer cannot be remembered in ${folder}${typeof code === "string" ? ` (${code})` : ""}.`;
  return new GatewayError(CACHE_UNAVAILABLE, message, { cause });
}
