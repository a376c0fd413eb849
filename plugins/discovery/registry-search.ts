import { GatewayError } from "../../core/mod.ts";
import type { Registries, RegistryEntry } from "../../core/services/registries.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { normalise } from "../lib/server-entry/normalise.ts";
import { fromServerJson, waysOf } from "../lib/server-entry/server-json.ts";
import type { DiscoveryFailure } from "./discovered.ts";
import { REGISTRY_SOURCE } from "./found-server.ts";

/** A server that a registry names. */
export interface RegistryServer {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Definition of its publisher, which is not trusted. */
  readonly config?: ServerConfig | undefined;
  /** Reason why there is no config. */
  readonly reason?: string | undefined;
}

/** Result of a search in registries. */
export interface RegistryFindings {
  readonly servers: readonly RegistryServer[];
  /** Registries that could not be asked. */
  readonly troubles: readonly DiscoveryFailure[];
}

/** A registry may name hundreds of servers for a common word, and each would be connected. */
const MAX_SERVERS = 20;

/** Searches registries. Servers that were deleted there are left out. */
export async function searchRegistry(
  registries: Registries | undefined,
  query: string,
  options: { readonly useCache: boolean; readonly signal?: AbortSignal | undefined },
): Promise<RegistryFindings> {
  const { entries, troubles } = (await registries?.search(query, { ...options, limit: MAX_SERVERS })) ?? none;
  const live = entries.filter(({ status }) => status !== "deleted").slice(0, MAX_SERVERS);
  return {
    servers: live.map(toServer),
    troubles: troubles.map((error) => ({ server: String(error.data["registry"] ?? "registry"), error })),
  };
}

const none = { entries: [], troubles: [] };

/** Describes an entry without a usable definition as a failure. */
export function unusable({ name, config, reason }: RegistryServer): DiscoveryFailure[] {
  if (config) return [];
  const message = `The server "${name}", which a registry names, cannot be used: ${reason ?? "it cannot be read"}.`;
  return [{ server: name, error: new GatewayError("CONFIG_INVALID", message, { data: { server: name } }) }];
}

function toServer({ name, version, description, server }: RegistryEntry): RegistryServer {
  // A server with a URL can be asked without running a program.
  const isRemote = waysOf(server).includes("remote");
  const raw = fromServerJson(server, isRemote ? { use: "remote" } : {});
  // Trusted as little as the definitions of a project.
  const { config, reason } = normalise(raw, { source: REGISTRY_SOURCE, scope: "project" });
  return { name, version, description, ...(config ? { config } : { reason }) };
}
