import { GatewayError } from "../../core/mod.ts";
import type { RegistryClient } from "../registry/client.ts";
import type { RegistryEntry } from "../registry/entry.ts";
import type { MirrorParts } from "../registry/mirror.ts";
import { normalise } from "../sources/normalise.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { fromServerJson, waysOf } from "../sources/server-json.ts";
import type { DiscoveryFailure } from "./discovered.ts";
import { REGISTRY_SOURCE } from "./found-server.ts";

/** Finds servers in registries, best first. A registry client is one; a better one also ranks. */
export type RegistrySearch = Pick<RegistryClient, "search">;

/** A server that a registry names. */
export interface RegistryServer {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** How it is reached, as its publisher says; nobody has looked at that. */
  readonly config?: ServerConfig | undefined;
  /** Why there is no config. */
  readonly reason?: string | undefined;
}

/** What registries answered. */
export interface RegistryFindings {
  readonly servers: readonly RegistryServer[];
  /** Registries that could not be asked, where others could. */
  readonly troubles: readonly DiscoveryFailure[];
}

/** A registry may name hundreds for a common word, and each is a stranger that would be called on. */
const MOST = 20;

/** Searches registries. Servers that were deleted there are left out. */
export async function searchRegistry(
  registry: RegistrySearch | undefined,
  query: string,
  options: { readonly useCache: boolean; readonly signal?: AbortSignal | undefined },
): Promise<RegistryFindings> {
  const { entries, troubles } = (await registry?.search(query, { ...options, limit: MOST })) ?? none;
  const live = entries.filter(({ status }) => status !== "deleted").slice(0, MOST);
  return {
    servers: live.map(toServer),
    troubles: troubles.map((error) => ({ server: String(error.data["registry"] ?? "registry"), error })),
  };
}

const none = { entries: [], troubles: [] };

/**
 * The search that people get: in the copy of the registries on this machine where there is one and it will do, else
 * in the registries themselves.
 */
export function rankedRegistry(client: RegistryClient, shared?: MirrorParts["shared"]): RegistrySearch {
  return {
    async search(query, { useCache = true, limit = MOST, signal } = {}) {
      const [{ findLocal, findRemote }, { createMirror }] = await Promise.all([
        import("../registry/find.ts"),
        import("../registry/mirror.ts"),
      ]);
      const asked: RegistryClient = {
        ...client,
        search: (text, options) => client.search(text, { ...options, useCache }),
      };
      const local = useCache
        ? await findLocal(createMirror({ client, shared }), query, { limit, signal })
        : undefined;
      const { hits, troubles } = local ?? (await findRemote(asked, query, { limit, signal }));
      return { entries: hits.map(({ entry }) => entry), troubles };
    },
  };
}

/** An entry that is no server we could ask, as a failure. */
export function unusable({ name, config, reason }: RegistryServer): DiscoveryFailure[] {
  if (config) return [];
  const message = `The server "${name}", which a registry names, cannot be used: ${reason ?? "it cannot be read"}.`;
  return [{ server: name, error: new GatewayError("CONFIG_INVALID", message, { data: { server: name } }) }];
}

function toServer({ name, version, description, server }: RegistryEntry): RegistryServer {
  // What has a URL can be asked without running anything.
  const isRemote = waysOf(server).includes("remote");
  const raw = fromServerJson(server, isRemote ? { use: "remote" } : {});
  // As little trusted as what a project brings.
  const { config, reason } = normalise(raw, { source: REGISTRY_SOURCE, scope: "project" });
  return { name, version, description, ...(config ? { config } : { reason }) };
}
