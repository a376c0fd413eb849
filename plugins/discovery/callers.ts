import type { ServerConfig } from "../../core/services/sources.ts";
import type { NamedCapability } from "./discovered.ts";
import type { DiscoveryOptions } from "./options.ts";
import type { CapabilityRegister, DiscoveryService } from "./service.ts";

/** Finds capabilities that are needed and not there. */
export interface RuntimeDiscovery {
  /**
   * Finds the capabilities that fit a name, best first. Those of the user's own servers are registered; those that only
   * a registry knows are not, since their servers are not approved.
   */
  resolve(name: string, options?: DiscoveryOptions): Promise<readonly NamedCapability[]>;
}

/** Resolves capabilities by a discovery service, which others may share. */
export function runtimeDiscovery({
  service,
  marketplace,
}: {
  readonly service: DiscoveryService;
  readonly marketplace?: CapabilityRegister | undefined;
}): RuntimeDiscovery {
  return {
    async resolve(name, options) {
      const { from, servers } = await service.findServersForCapability(name, options);
      const manifests = servers.flatMap(({ config, tools }) =>
        tools.map((tool) => service.toolToManifest(tool, config)),
      );
      if (from === "configured") for (const manifest of manifests) await marketplace?.register(manifest);
      return manifests;
    },
  };
}

/** Provides the capabilities of one server. */
export interface DiscoveryProvider {
  readonly name: string;
  discover(options?: DiscoveryOptions): Promise<readonly NamedCapability[]>;
}

/** Creates the provider of one server. The service chooses credentials from the definition and the environment. */
export function discoveryProvider(config: ServerConfig, service: DiscoveryService): DiscoveryProvider {
  return {
    name: config.name,
    async discover(options) {
      const tools = await service.discoverTools(config, options);
      return tools.map((tool) => service.toolToManifest(tool, config));
    },
  };
}
