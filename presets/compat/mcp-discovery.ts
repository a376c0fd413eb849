import { createGateway, type Gateway, GatewayError, type ToolDefinition } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { createCache, fileStorage } from "../../plugins/cache/mod.ts";
import {
  type DiscoveredTool,
  type DiscoveryFault,
  type DiscoveryOptions,
  type DiscoveryService,
  discoveryProvider,
  findFault,
  type NamedCapability,
  openToolCache,
  runtimeDiscovery,
  type ServerDiscovery,
  serverDiscovery,
  type ToolCache,
} from "../../plugins/discovery/mod.ts";
import { registries } from "../../plugins/registries/mod.ts";
import { search } from "../../plugins/search/mod.ts";
import { types } from "../../plugins/types/mod.ts";

/** A failure of a discovery, with the name that the specification gives it. */
export class MCPDiscoveryError extends Error {
  override name = "MCPDiscoveryError";
  /** Absent for a failure that the specification does not name. */
  readonly kind: DiscoveryFault | undefined;
  readonly code: string;
  /** Time after which a server that limits the rate may be asked again. */
  readonly retryAfterMs: number | undefined;

  constructor(error: GatewayError) {
    super(error.message, { cause: error });
    this.kind = findFault(error);
    this.code = error.code;
    const { retryAfterMs } = error.data;
    this.retryAfterMs = typeof retryAfterMs === "number" ? retryAfterMs : undefined;
  }
}

/** The methods of the discovery service. Each opens the gateway of the service when it is first called. */
type Methods = Omit<DiscoveryService, "toolToManifest" | "withAuthHeaders">;

/** Options of a discovery service of its own. */
export interface MCPDiscoveryServiceOptions {
  /** A gateway with the plugin `server-discovery`; one on the user's own servers by default. */
  readonly gateway?: Gateway | undefined;
  /** Headers for every server. */
  readonly authHeaders?: Readonly<Record<string, string>> | undefined;
}

/**
 * The discovery service of the specification, as a class. New programs use the plugin `server-discovery`.
 *
 * @example
 * ```ts
 * import { MCPDiscoveryService } from "toolpipe/anygpt";
 *
 * const service = new MCPDiscoveryService();
 * console.log(await service.warmCacheForAllConfiguredServers());
 * await service.close();
 * ```
 */
export class MCPDiscoveryService implements Methods {
  readonly #options: MCPDiscoveryServiceOptions;
  #opening: Promise<Gateway> | undefined;

  constructor(options: MCPDiscoveryServiceOptions = {}) {
    this.#options = options;
  }

  /** Creates a service that sends these headers to every server. */
  static withAuthHeaders(authHeaders: Readonly<Record<string, string>>): MCPDiscoveryService {
    return new MCPDiscoveryService({ authHeaders });
  }

  discoverTools: Methods["discoverTools"] = (...args) => this.#run((one) => one.discoverTools(...args));
  discoverResources: Methods["discoverResources"] = (...args) =>
    this.#run((one) => one.discoverResources(...args));
  discoverServer: Methods["discoverServer"] = (...args) => this.#run((one) => one.discoverServer(...args));
  discoverFromRegistry: Methods["discoverFromRegistry"] = (...args) =>
    this.#run((one) => one.discoverFromRegistry(...args));
  searchRegistryForCapability: Methods["searchRegistryForCapability"] = (...args) =>
    this.#run((one) => one.searchRegistryForCapability(...args));
  findServersForCapability: Methods["findServersForCapability"] = (...args) =>
    this.#run((one) => one.findServersForCapability(...args));
  registerCapability: Methods["registerCapability"] = (manifest) =>
    this.#run((one) => one.registerCapability(manifest));
  warmCacheForServers: Methods["warmCacheForServers"] = (...args) =>
    this.#run((one) => one.warmCacheForServers(...args));
  warmCacheForAllConfiguredServers: Methods["warmCacheForAllConfiguredServers"] = (...args) =>
    this.#run((one) => one.warmCacheForAllConfiguredServers(...args));

  /** Describes a tool as a capability. */
  toolToManifest(tool: ToolDefinition | DiscoveredTool, config: ServerConfig): Promise<NamedCapability> {
    return this.#run(async (one) => one.toolToManifest(tool, config));
  }

  /** Returns the service that this class is a name of. */
  async service(): Promise<DiscoveryService> {
    const { authHeaders, gateway } = this.#options;
    this.#opening ??= gateway ? Promise.resolve(gateway) : open();
    const own = findService(await this.#opening);
    return authHeaders ? own.withAuthHeaders(authHeaders) : own;
  }

  /** Closes the gateway of the service. A gateway that was given stays open. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    if (!this.#options.gateway) await (await opening?.catch(() => undefined))?.close();
  }

  async #run<T>(work: (service: DiscoveryService) => Promise<T>): Promise<T> {
    try {
      return await work(await this.service());
    } catch (thrown) {
      throw new MCPDiscoveryError(GatewayError.from(thrown));
    }
  }
}

/** Opens a gateway on the config that the commands use; without one, on the servers of the user's clients. */
async function open(): Promise<Gateway> {
  const { addPlugins, loadCliConfig } = await import("../../plugins/cli/mod.ts");
  return createGateway(
    addPlugins(await loadCliConfig({ isTrusted: true }), [
      types(),
      search(),
      registries(),
      serverDiscovery(),
    ]),
  );
}

function findService({ services }: Gateway): ServerDiscovery {
  if (services.serverDiscovery) return services.serverDiscovery;
  throw new GatewayError("PLUGIN_INVALID", 'The plugin "server-discovery" is missing. Add it to the config.');
}

/** The cache of discovered tools: in memory, and in files if there is a folder. */
export class MCPCache {
  readonly #cache: Promise<ToolCache>;

  constructor({ cacheDir, toolCacheTtlMs }: { cacheDir?: string; toolCacheTtlMs?: number } = {}) {
    const storage = cacheDir === undefined ? undefined : fileStorage(cacheDir);
    this.#cache = openToolCache(createCache({ storage, onTrouble: () => {} }), toolCacheTtlMs);
  }

  async getTools(server: string): Promise<readonly DiscoveredTool[] | undefined> {
    return (await (await this.#cache).getTools(server))?.tools;
  }

  async storeTools(server: string, tools: readonly DiscoveredTool[]): Promise<void> {
    await (await this.#cache).storeTools(server, { tools, resources: [], resourceTemplates: [] });
  }

  async clear(): Promise<void> {
    await (await this.#cache).clear();
  }

  async clearServer(server: string): Promise<void> {
    await (await this.#cache).clearServer(server);
  }
}

type Marketplace = Parameters<typeof runtimeDiscovery>[0]["marketplace"];

/** Finds capabilities that are needed and not there. */
export class RuntimeMcpDiscovery {
  readonly discoveryService: MCPDiscoveryService;
  readonly #marketplace: Marketplace;

  constructor(marketplace?: Marketplace, discoveryService: MCPDiscoveryService = new MCPDiscoveryService()) {
    this.#marketplace = marketplace;
    this.discoveryService = discoveryService;
  }

  static withDiscoveryService(service: MCPDiscoveryService, marketplace?: Marketplace): RuntimeMcpDiscovery {
    return new RuntimeMcpDiscovery(marketplace, service);
  }

  async resolve(name: string, options?: DiscoveryOptions): Promise<readonly NamedCapability[]> {
    const service = await this.discoveryService.service();
    return runtimeDiscovery({ service, marketplace: this.#marketplace }).resolve(name, options);
  }
}

/** Provides the capabilities of one server. */
export class MCPDiscoveryProvider {
  readonly config: ServerConfig;
  readonly discoveryService: MCPDiscoveryService;

  constructor(config: ServerConfig, discoveryService: MCPDiscoveryService = new MCPDiscoveryService()) {
    this.config = config;
    this.discoveryService = discoveryService;
  }

  async discover(options?: DiscoveryOptions): Promise<readonly NamedCapability[]> {
    return discoveryProvider(this.config, await this.discoveryService.service()).discover(options);
  }
}
