import { resolve } from "node:path";
import { type Gateway, GatewayError } from "../../core/mod.ts";
import type { Servers } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { PENDING_FOLDER } from "./capability-files/request-approval.ts";
import { writeCapabilities } from "./capability-files/write-capabilities.ts";
import { createOutputIntrospection } from "./introspect-output.ts";
import { inferTags } from "./manifest.ts";
import type { RateLimitConfig } from "./options.ts";
import { registerServer } from "./register-server.ts";
import { createDiscoveryService, type DiscoveryService } from "./service.ts";
import { createMemoryCache, createToolCache, type ToolCache } from "./tool-cache.ts";

/** The discovery service of a gateway, with its cache. */
export interface ServerDiscovery extends DiscoveryService {
  readonly cache: ToolCache;
}

/** Creates the discovery service of a gateway: on its server pool, cache, registries, emitters and rankers. */
export function createGatewayDiscovery(
  gateway: Gateway,
  options: {
    readonly rateLimits?: Readonly<Record<string, RateLimitConfig>> | undefined;
    readonly allowPrivate: boolean;
    readonly authHeaders?: Readonly<Record<string, string>> | undefined;
  },
): ServerDiscovery {
  const { services } = gateway;
  const cache = createToolCache(services.cache ?? createMemoryCache());
  const service = createDiscoveryService({
    ...options,
    cache,
    inferTags,
    emitType: (schema) => findRtfs(gateway).type(schema),
    servers: { open: (config, openOptions) => findServers(gateway).open(config, openOptions) },
    registries: services.registries,
    createRanker: async () => (await gateway.driver("ranker", "keyword"))({}, {}),
    configuredServers: () => connectableServers(gateway),
    introspectOutput: createOutputIntrospection(gateway),
    registerServer: (server) => registerServer(gateway, server),
    serverNames: () => (services.servers?.statuses() ?? []).map(({ name }) => name),
    async exportAll({ name: server }, manifests, directory = PENDING_FOLDER) {
      const emitter = findRtfs(gateway);
      await writeCapabilities({ folder: resolve(directory), server, manifests, emitter });
    },
  });
  return { ...service, cache };
}

/** Returns the servers that may be connected: not those that need approval or are switched off. */
export function connectableServers({ services }: Gateway): readonly ServerConfig[] {
  return (services.servers?.statuses() ?? []).flatMap(({ status, config }) =>
    status === "needs-approval" || config.disabled ? [] : [config],
  );
}

function findServers({ services }: Gateway): Servers {
  if (services.servers) return services.servers;
  throw missing('No server can be asked: the plugin "upstreams" is missing. Add it to the config.');
}

function findRtfs(gateway: Gateway) {
  const emitter = gateway.drivers("emitter").get("rtfs");
  if (emitter) return emitter;
  throw missing('Types cannot be written as RTFS: the plugin "types" is missing. Add it to the config.');
}

function missing(message: string): GatewayError {
  return new GatewayError("PLUGIN_INVALID", message);
}
