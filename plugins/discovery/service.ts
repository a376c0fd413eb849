import { GatewayError, type JsonObject, type MaybePromise, type ToolDefinition } from "../../core/mod.ts";
import type { Registries } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import type { Servers } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { type RetryTiming, sleep } from "../lib/backoff.ts";
import { type DiscoverServerParts, discoverServer, limitRequests } from "./discover-server.ts";
import {
  type DiscoveredServer,
  type DiscoveredTool,
  type DiscoveryFailure,
  type DiscoveryOutcome,
  type NamedCapability,
  type Registration,
  toOutcome,
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
import { createOpenServer } from "./open-server.ts";
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

/** The tools of a server that are to be registered. */
export interface ServerRegistration {
  readonly config: ServerConfig;
  readonly tools: readonly { readonly tool: ToolDefinition; readonly manifest: NamedCapability }[];
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
  /** Adds the tools of a server to the gateway, or requests approval. */
  readonly registerServer?: ((server: ServerRegistration) => Promise<Registration>) | undefined;
  /** Headers for every server, unless the options of a discovery bring others. */
  readonly authHeaders?: Readonly<Record<string, string>> | undefined;
  /** Returns the names of all servers of the gateway, which ids are told apart by. */
  readonly serverNames?: (() => readonly string[]) | undefined;
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
  searchRegistryForCapability(
    query: string,
    useCache?: boolean,
    options?: { readonly allMatches?: boolean | undefined },
  ): Promise<RegistryMatches>;
  /** Finds the user's servers that have a capability, or those of a registry if none of the user's has. */
  findServersForCapability(name: string, options?: DiscoveryOptions): Promise<CapabilitySearch>;
  /**
   * Registers a capability in the gateway, the marketplace and the catalog, if there are such. Of a server that the
   * gateway does not have, it waits for approval.
   */
  registerCapability(manifest: NamedCapability): Promise<Registration>;
  /** Describes a tool as a capability. */
  toolToManifest(tool: ToolDefinition | DiscoveredTool, config: ServerConfig): NamedCapability;
  /** Creates a service on the same parts that sends these headers to every server. */
  withAuthHeaders(headers: Readonly<Record<string, string>>): DiscoveryService;
  /** Discovers servers ahead of time, so that their tools are cached. */
  warmCacheForServers(servers: readonly ServerConfig[], options?: DiscoveryOptions): Promise<WarmStatistics>;
  /** Discovers all of the user's servers ahead of time. */
  warmCacheForAllConfiguredServers(options?: DiscoveryOptions): Promise<WarmStatistics>;
}

/** Creates a discovery service on a server pool. Connects to nothing until a method is called. */
export function createDiscoveryService(parts: DiscoveryParts): DiscoveryService {
  const { cache, registries, marketplace, catalog } = parts;
  const waiting: RetryTiming = { sleep, ...parts.waiting };
  /** Origins of manifests: a manifest leaves out what may be secret, so a server cannot be added by it alone. */
  const origins = new WeakMap<NamedCapability, { tool: ToolDefinition; config: ServerConfig }>();
  /** Names of the tools that servers were seen with. */
  const seen = new Map<string, readonly string[]>();
  const describe = (tool: ToolDefinition | DiscoveredTool, config: ServerConfig): NamedCapability => {
    const servers = [...(parts.serverNames?.() ?? []), ...seen.keys()];
    const manifest = toManifest(tool, config, parts.inferTags, { servers, tools: seen.get(config.name) });
    origins.set(manifest, { tool: toDefinition(tool), config });
    return manifest;
  };
  const registerAll: DiscoverServerParts["register"] = async (config, tools, manifests) => {
    for (const manifest of manifests) {
      await marketplace?.register(manifest);
      await catalog?.register(manifest);
    }
    const pairs = manifests.map((manifest, index) => ({
      tool: toDefinition(tools[index] ?? { name: manifest.name, inputSchema: manifest.inputSchema }),
      manifest,
    }));
    const registered = await parts.registerServer?.({ config, tools: pairs });
    return registered ?? (marketplace || catalog ? "registered" : "skipped");
  };
  const needs: DiscoverServerParts = {
    emitType: parts.emitType,
    inferTags: parts.inferTags,
    introspectOutput: parts.introspectOutput,
    open: createOpenServer(parts.servers, parts.allowPrivate === true),
    acquireTurn: limitRequests(parts.rateLimits, waiting),
    waiting,
    cache,
    register: registerAll,
    toManifests: (tools, config) => tools.map((tool) => describe(tool, config)),
    exportAll: parts.exportAll,
  };
  const parse = (options: DiscoveryOptions = {}): DiscoverySettings =>
    parseDiscoveryOptions(
      parts.authHeaders ? { ...options, authHeaders: options.authHeaders ?? parts.authHeaders } : options,
    );
  const discover = async (config: ServerConfig, settings: DiscoverySettings): Promise<DiscoveredServer> => {
    seen.set(config.name, seen.get(config.name) ?? []);
    const found = await discoverServer(config, settings, {
      ...needs,
      toManifests(tools) {
        seen.set(
          config.name,
          tools.map(({ name }) => name),
        );
        return needs.toManifests(tools, config);
      },
    });
    seen.set(
      config.name,
      found.tools.map(({ name }) => name),
    );
    return found;
  };
  const one = (config: ServerConfig, options?: DiscoveryOptions): Promise<DiscoveredServer> =>
    discover(config, parse(options));
  const many = (configs: readonly ServerConfig[], options?: DiscoveryOptions): Promise<DiscoveryOutcome> => {
    const settings = parse(options);
    return discoverMany(configs, settings, (config) => discover(config, settings));
  };
  const configured = async (): Promise<readonly ServerConfig[]> => (await parts.configuredServers?.()) ?? [];
  const search = (
    query: string,
    useCache = false,
    { allMatches = false, signal }: Pick<DiscoveryOptions, "allMatches" | "signal"> = {},
  ): Promise<RegistryFindings> => searchRegistry(registries, query, { useCache, all: allMatches, signal });

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
      const useCache = options.useCache === true && options.refreshCache !== true;
      const { servers, troubles, leftOut } = await search(query, useCache, options);
      const outcome = await many(
        servers.flatMap(({ config }) => (config ? [config] : [])),
        options,
      );
      return toOutcome({
        ...outcome,
        leftOut,
        failures: [...outcome.failures, ...servers.flatMap(toUnusableFailure), ...troubles],
      });
    },
    async searchRegistryForCapability(query, useCache, options) {
      const { servers, leftOut } = await search(query, useCache, options);
      return Object.assign([...servers], { leftOut });
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
        return toOutcome({ servers: [], failures: [{ server: "registry", error }] });
      });
      // A server of the user that could not be asked may have the capability after all.
      return { from: "registry", ...found, failures: [...own.failures, ...found.failures] };
    },
    async registerCapability(manifest) {
      const { tool, config } = origins.get(manifest) ?? toOrigin(manifest);
      return registerAll(config, [{ ...tool, inputType: "", domains: [], categories: [] }], [manifest]);
    },
    toolToManifest: describe,
    withAuthHeaders: (authHeaders) => createDiscoveryService({ ...parts, authHeaders }),
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
  return toOutcome({
    servers: all.filter((each) => "tools" in each),
    failures: all.filter((each) => "error" in each),
  });
}

/** Servers that a registry names for a query. */
export type RegistryMatches = readonly RegistryServer[] & {
  /** Number of further matches that were left out. */
  readonly leftOut: number;
};

/** Returns the definition of a tool as its server sent it. */
function toDefinition(tool: ToolDefinition | DiscoveredTool): ToolDefinition {
  const {
    inputType: _in,
    outputType: _out,
    domains: _domains,
    categories: _categories,
    ...rest
  } = tool as DiscoveredTool;
  return rest;
}

/** Reads the server and the tool from a manifest that another process has written. */
function toOrigin({ id, name, description, inputSchema, outputSchema, provider }: NamedCapability): {
  tool: ToolDefinition;
  config: ServerConfig;
} {
  const tool = { name, description, inputSchema, ...(outputSchema && { outputSchema }) };
  const [, server = name] = id.split(".");
  const connection =
    provider.serverUrl === undefined
      ? {
          type: "stdio" as const,
          command: provider.command?.[0] ?? "",
          args: provider.command?.slice(1) ?? [],
          env: {},
        }
      : { type: "http" as const, url: provider.serverUrl, headers: {} };
  return { tool, config: { name: server, connection, origin: { source: "capability", scope: "project" } } };
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
