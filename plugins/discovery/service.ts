import { GatewayError, type JsonObject, type MaybePromise, type ToolDefinition } from "../../core/mod.ts";
import type { Registries } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import type { Servers } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { type RetryTiming, sleep } from "../lib/backoff.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";
import { type DiscoverServerParts, discoverServer, limitRequests } from "./discover-server.ts";
import type {
  DiscoveredServer,
  DiscoveredTool,
  DiscoveryFailure,
  DiscoveryOutcome,
  NamedCapability,
} from "./discovered.ts";
import type { Enriching } from "./enrich.ts";
import {
  type CapabilitySearch,
  findCapability,
  type RegistryFindings,
  type RegistryServer,
  searchRegistry,
  toUnusableFailure,
} from "./find-servers.ts";
import { toManifest } from "./manifest.ts";
import { createOpenServer, findSpareToken } from "./open-server.ts";
import {
  type DiscoveryOptions,
  type DiscoverySettings,
  parseDiscoveryOptions,
  type RateLimitConfig,
} from "./options.ts";
import type { ToolCache } from "./tool-cache.ts";

/** Registers capabilities, such as a marketplace or a catalog does. */
export interface CapabilityRegister {
  register(manifest: NamedCapability): MaybePromise<void>;
}

/** The resources of a server. */
interface DiscoveredResources {
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
}

/** Dependencies of a discovery service. All but the server pool are optional. */
export interface DiscoveryParts extends Enriching {
  /** The server pool of the gateway. */
  readonly servers: Pick<Servers, "open">;
  /** Whether servers that a registry names may have a private address; false by default. */
  readonly allowPrivate?: boolean | undefined;
  /** Returns the user's servers that may be connected. */
  readonly configuredServers?: (() => MaybePromise<readonly ServerConfig[]>) | undefined;
  readonly registries?: Registries | undefined;
  /** Creates the ranker that finds a capability among tools. */
  readonly createRanker?: (() => Promise<Ranker>) | undefined;
  readonly cache?: ToolCache | undefined;
  readonly marketplace?: CapabilityRegister | undefined;
  readonly catalog?: CapabilityRegister | undefined;
  /** Writes capabilities to files. */
  readonly exportAll?: DiscoverServerParts["exportAll"];
  /** Rate limits of single servers, by name. */
  readonly rateLimits?: Readonly<Record<string, RateLimitConfig>> | undefined;
  readonly waiting?: Partial<RetryTiming> | undefined;
}

/** Discovers the tools and resources of servers (spec 004). */
export interface DiscoveryService {
  /** Discovers the tools of one server. */
  discoverTools(config: ServerConfig, options?: DiscoveryOptions): Promise<readonly DiscoveredTool[]>;
  /** Discovers the resources of one server. */
  discoverResources(config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredResources>;
  /** Discovers one server, with the warnings of its discovery. */
  discoverServer(config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredServer>;
  /** Searches a registry and discovers the servers that it names, a few at a time. */
  discoverFromRegistry(query: string, options?: DiscoveryOptions): Promise<DiscoveryOutcome>;
  /** Searches a registry without connecting to any server. */
  searchRegistryForCapability(query: string, useCache?: boolean): Promise<readonly RegistryServer[]>;
  /** Finds the user's servers that have a capability, or those of a registry if none of the user's has. */
  findServersForCapability(name: string, options?: DiscoveryOptions): Promise<CapabilitySearch>;
  /** Registers a capability in the marketplace and the catalog, if there are such. */
  registerCapability(manifest: NamedCapability): Promise<void>;
  /** Describes a tool as a capability. */
  toolToManifest(tool: ToolDefinition | DiscoveredTool, config: ServerConfig): NamedCapability;
  /** Discovers servers ahead of time, so that their tools are cached. */
  warmCacheForServers(servers: readonly ServerConfig[], options?: DiscoveryOptions): Promise<WarmStatistics>;
  /** Discovers all of the user's servers ahead of time. */
  warmCacheForAllConfiguredServers(options?: DiscoveryOptions): Promise<WarmStatistics>;
}

/** Creates a discovery service on a server pool. Connects to nothing until a method is called. */
export function createDiscoveryService(parts: DiscoveryParts): DiscoveryService {
  const { cache, registries, marketplace, catalog } = parts;
  const waiting: RetryTiming = { sleep, ...parts.waiting };
  const registerCapability = async (manifest: NamedCapability): Promise<void> => {
    await marketplace?.register(manifest);
    await catalog?.register(manifest);
  };
  const needs: DiscoverServerParts = {
    emitType: parts.emitType,
    inferTags: parts.inferTags,
    introspectOutput: parts.introspectOutput,
    open: createOpenServer(parts.servers, parts.allowPrivate === true),
    findSpareToken: (config) => findSpareToken(config, thisMachine()),
    acquireTurn: limitRequests(parts.rateLimits, waiting),
    waiting,
    cache,
    register: registerCapability,
    exportAll: parts.exportAll,
  };
  const one = (config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredServer> =>
    discoverServer(config, parseDiscoveryOptions(options), needs);
  const many = (configs: readonly ServerConfig[], options?: DiscoveryOptions): Promise<DiscoveryOutcome> => {
    const settings = parseDiscoveryOptions(options);
    return discoverMany(configs, settings, (config) => discoverServer(config, settings, needs));
  };
  const configured = async (): Promise<readonly ServerConfig[]> => (await parts.configuredServers?.()) ?? [];
  const search = (query: string, useCache = false, signal?: AbortSignal): Promise<RegistryFindings> =>
    searchRegistry(registries, query, { useCache, signal });

  const service: DiscoveryService = {
    discoverServer: one,
    async discoverTools(config, options) {
      return (await one(config, options)).tools;
    },
    async discoverResources(config, options) {
      const { resources, resourceTemplates } = await one(config, options);
      return { resources, resourceTemplates };
    },
    async discoverFromRegistry(query, options = {}) {
      const { servers, troubles } = await search(
        query,
        options.useCache === true && options.refreshCache !== true,
        options.signal,
      );
      const outcome = await many(
        servers.flatMap(({ config }) => (config ? [config] : [])),
        options,
      );
      return {
        ...outcome,
        failures: [...outcome.failures, ...servers.flatMap(toUnusableFailure), ...troubles],
      };
    },
    async searchRegistryForCapability(query, useCache) {
      return (await search(query, useCache)).servers;
    },
    async findServersForCapability(name, options = {}) {
      const own = await many(await configured(), options);
      const ranker = await parts.createRanker?.();
      const servers = ranker ? await findCapability(name, own.servers, ranker) : [];
      if (servers.length > 0 || !registries) return { from: "configured", servers, failures: own.failures };
      // Only servers that the user chose are registered and exported; these were found.
      const chosen = { ...options, registerInMarketplace: false, exportToRtfs: false };
      const found = await service.discoverFromRegistry(name, chosen).catch((thrown: unknown) => {
        if (options.signal?.aborted) throw thrown;
        const error = GatewayError.from(thrown, "The registry could not be asked.");
        return { servers: [], failures: [{ server: "registry", error }] };
      });
      // A server of the user that could not be asked may have the capability after all.
      return { from: "registry", ...found, failures: [...own.failures, ...found.failures] };
    },
    registerCapability,
    toolToManifest: (tool, config) => toManifest(tool, config, parts.inferTags),
    async warmCacheForServers(servers, options = {}) {
      const before = performance.now();
      const outcome = await many(servers, { ...options, useCache: true });
      return toWarmStatistics(outcome, performance.now() - before);
    },
    async warmCacheForAllConfiguredServers(options) {
      return service.warmCacheForServers(await configured(), options);
    },
  };
  return service;
}

/** Discovers several servers, a few at a time. The failure of one does not affect the others. */
async function discoverMany(
  configs: readonly ServerConfig[],
  settings: DiscoverySettings,
  discover: (config: ServerConfig) => Promise<DiscoveredServer>,
): Promise<DiscoveryOutcome> {
  const total = configs.length;
  let done = 0;
  const discoverOne = async (config: ServerConfig): Promise<DiscoveredServer | DiscoveryFailure> => {
    const result = await discover(config).catch((thrown: unknown) => {
      const message = `The server "${config.name}" could not be asked for its tools.`;
      return { server: config.name, config, error: GatewayError.from(thrown, message) };
    });
    const outcome =
      "error" in result
        ? { error: result.error }
        : { tools: result.tools.length, fromCache: result.fromCache };
    settings.onServer?.({ config, done: ++done, total, ...outcome });
    return result;
  };
  const { default: Queue } = await import("p-queue");
  const queue = new Queue({ concurrency: settings.maxParallelDiscoveries });
  const all = await queue.addAll(configs.map((config) => () => discoverOne(config)));
  return {
    servers: all.filter((each) => "tools" in each),
    failures: all.filter((each) => "error" in each),
  };
}

/** Outcome of warming the cache. */
export interface WarmStatistics {
  /** Servers whose tools are cached now. */
  readonly successful: number;
  readonly failed: number;
  /** Number of their tools. */
  readonly cachedTools: number;
  /** Servers that were cached before and were not asked. */
  readonly alreadyWarm: number;
  readonly durationMs: number;
  readonly failures: readonly DiscoveryFailure[];
}

/** Counts the outcome of a discovery. */
function toWarmStatistics({ servers, failures }: DiscoveryOutcome, durationMs: number): WarmStatistics {
  return {
    successful: servers.length,
    failed: failures.length,
    cachedTools: servers.reduce((sum, { tools }) => sum + tools.length, 0),
    alreadyWarm: servers.filter(({ fromCache }) => fromCache).length,
    durationMs: Math.round(durationMs),
    failures,
  };
}
