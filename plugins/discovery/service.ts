import { GatewayError, type JsonObject, type MaybePromise, type ToolDefinition } from "../../core/mod.ts";
import { sleep, type Waiting } from "../retry/backoff.ts";
import { thisMachine } from "../sources/machine.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { discoverMany } from "./discover-many.ts";
import { type DiscoverServerParts, discoverServer } from "./discover-server.ts";
import type { CapabilityManifest, DiscoveredServer, DiscoveredTool, DiscoveryOutcome } from "./discovered.ts";
import type { Enriching } from "./enrich.ts";
import { type CapabilitySearch, findCapability } from "./find-capability.ts";
import { manifestOf } from "./manifest.ts";
import { type DiscoveryOptions, discoverySettings, type RateLimitConfig } from "./options.ts";
import { serverLimiter } from "./rate-limiter.ts";
import {
  type RegistryFindings,
  type RegistrySearch,
  type RegistryServer,
  searchRegistry,
  unusable,
} from "./registry-search.ts";
import { type SessionParts, sessionOpener, spareToken } from "./session.ts";
import type { ToolCache } from "./tool-cache.ts";
import { type WarmStatistics, warmStatistics } from "./warm-statistics.ts";

/** Takes capabilities in: a marketplace, a catalog. */
export interface CapabilityRegister {
  register(manifest: CapabilityManifest): MaybePromise<void>;
}

/** What a server has besides tools. */
export interface DiscoveredResources {
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
}

/** What a discovery service is made of. Everything that is left out is left out of what it does. */
export interface DiscoveryParts extends Enriching, SessionParts {
  /** The servers that the person has and that may be connected to. */
  readonly configuredServers?: (() => MaybePromise<readonly ServerConfig[]>) | undefined;
  /** Asks a registry. */
  readonly registry?: RegistrySearch | undefined;
  readonly cache?: ToolCache | undefined;
  readonly marketplace?: CapabilityRegister | undefined;
  readonly catalog?: CapabilityRegister | undefined;
  /** Writes capabilities to files. */
  readonly exportAll?: DiscoverServerParts["exportAll"];
  /** Limits of single servers, by name. */
  readonly rateLimits?: Readonly<Record<string, RateLimitConfig>> | undefined;
  /** Opens sessions in place of our own connections. */
  readonly openSession?: DiscoverServerParts["openSession"] | undefined;
  readonly waiting?: Partial<Waiting> | undefined;
}

/** Finds out what servers offer. */
export interface DiscoveryService {
  /** The tools of one server. */
  discoverTools(config: ServerConfig, options?: DiscoveryOptions): Promise<readonly DiscoveredTool[]>;
  /** The resources of one server. */
  discoverResources(config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredResources>;
  /** Everything that is known of one server after it was asked. */
  discoverServer(config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredServer>;
  /** Searches a registry and asks the servers it names, a few at a time. */
  discoverFromRegistry(query: string, options?: DiscoveryOptions): Promise<DiscoveryOutcome>;
  /** What a registry has, without asking any server. */
  searchRegistryForCapability(query: string, useCache?: boolean): Promise<readonly RegistryServer[]>;
  /** The person's own servers that have a capability; a registry's where none has. */
  findServersForCapability(name: string, options?: DiscoveryOptions): Promise<CapabilitySearch>;
  /** Registers a capability in the marketplace and the catalog, as far as they are there. */
  registerCapability(manifest: CapabilityManifest): Promise<void>;
  /** A tool as a capability. */
  toolToManifest(tool: ToolDefinition | DiscoveredTool, config: ServerConfig): CapabilityManifest;
  /** Asks servers so that later answers are remembered. */
  warmCacheForServers(servers: readonly ServerConfig[], options?: DiscoveryOptions): Promise<WarmStatistics>;
  /** The same for all servers of the person. */
  warmCacheForAllConfiguredServers(options?: DiscoveryOptions): Promise<WarmStatistics>;
}

/**
 * Makes a discovery service. Nothing is connected until it is asked for something.
 *
 * @example
 * ```ts
 * import { createDiscoveryService, enriching } from "toolpipe/plugins/discovery";
 *
 * const service = createDiscoveryService(enriching);
 * const tools = await service.discoverTools({
 *   name: "docs",
 *   connection: { type: "http", url: "https://docs.example/mcp", headers: {} },
 *   origin: { source: "mine", scope: "user" },
 * });
 * for (const { name, inputType } of tools) console.log(name, inputType);
 * ```
 */
export function createDiscoveryService(parts: DiscoveryParts): DiscoveryService {
  const { cache, registry, marketplace, catalog } = parts;
  const machine = parts.machine ?? thisMachine;
  const waiting: Waiting = { sleep, random: Math.random, ...parts.waiting };
  const registerCapability = async (manifest: CapabilityManifest): Promise<void> => {
    await marketplace?.register(manifest);
    await catalog?.register(manifest);
  };
  const needs: DiscoverServerParts = {
    emitType: parts.emitType,
    inferDomains: parts.inferDomains,
    introspectOutput: parts.introspectOutput,
    openSession: parts.openSession ?? sessionOpener(parts),
    spareToken: (config) => spareToken(config, machine()),
    limiter: serverLimiter({ servers: parts.rateLimits, sleep: waiting.sleep }),
    waiting,
    cache,
    register: registerCapability,
    exportAll: parts.exportAll,
  };
  const one = (config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredServer> =>
    discoverServer(config, discoverySettings(options), needs);
  const many = (configs: readonly ServerConfig[], options?: DiscoveryOptions): Promise<DiscoveryOutcome> => {
    const settings = discoverySettings(options);
    return discoverMany(configs, settings, (config) => discoverServer(config, settings, needs));
  };
  const configured = async (): Promise<readonly ServerConfig[]> => (await parts.configuredServers?.()) ?? [];
  const search = (query: string, useCache = false, signal?: AbortSignal): Promise<RegistryFindings> =>
    searchRegistry(registry, query, { useCache, signal });

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
      return { ...outcome, failures: [...outcome.failures, ...servers.flatMap(unusable), ...troubles] };
    },
    async searchRegistryForCapability(query, useCache) {
      return (await search(query, useCache)).servers;
    },
    async findServersForCapability(name, options = {}) {
      const own = await many(await configured(), options);
      const servers = await findCapability(name, own.servers);
      if (servers.length > 0 || !registry) return { from: "configured", servers, failures: own.failures };
      // Registering and exporting is for what somebody chose, and nobody has chosen these.
      const chosen = { ...options, registerInMarketplace: false, exportToRtfs: false };
      const found = await service.discoverFromRegistry(name, chosen).catch((thrown: unknown) => {
        if (options.signal?.aborted) throw thrown;
        const error = GatewayError.from(thrown, "The registry could not be asked.");
        return { servers: [], failures: [{ server: "registry", error }] };
      });
      // One of the person's own that could not be asked may have it after all.
      return { from: "registry", ...found, failures: [...own.failures, ...found.failures] };
    },
    registerCapability,
    toolToManifest: (tool, config) => manifestOf(tool, config, parts.inferDomains),
    async warmCacheForServers(servers, options = {}) {
      const before = performance.now();
      const outcome = await many(servers, { ...options, useCache: true });
      return warmStatistics(outcome, performance.now() - before);
    },
    async warmCacheForAllConfiguredServers(options) {
      return service.warmCacheForServers(await configured(), options);
    },
  };
  return service;
}
