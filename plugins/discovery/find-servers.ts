import { GatewayError, type Tool } from "../../core/mod.ts";
import type { Registries, RegistryEntry } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { normalizeEntry } from "../lib/server-entry/normalize.ts";
import { listUses, parseServerJson } from "../lib/server-entry/server-json.ts";
import { REGISTRY_SOURCE } from "../lib/server-entry/spare-token.ts";
import type { DiscoveredServer, DiscoveredTool, DiscoveryFailure } from "./discovered.ts";

/** A server with tools that fit a capability. */
export interface CapableServer {
  readonly config: ServerConfig;
  /** Tools that fit, best first; all tools of a server that a registry found. */
  readonly tools: readonly DiscoveredTool[];
  /** Relevance of its best tool, between 0 and 1; absent for a server of a registry. */
  readonly relevance?: number | undefined;
}

/** Result of the search for a capability. */
export interface CapabilitySearch {
  /** Whether the servers are the user's own, or were found in a registry. */
  readonly from: "configured" | "registry";
  readonly servers: readonly CapableServer[];
  /** Servers that could not be asked. */
  readonly failures: readonly DiscoveryFailure[];
  /** Number of matches of a registry that were left out. */
  readonly leftOut?: number | undefined;
}

/** Below this relevance, the best tool is the wrong one more often than not, and a registry may know better. */
const MIN_RELEVANCE = 0.5;
const MAX_TOOLS = 50;

/** Finds the servers that have a capability, best first, by the words of their tools. */
export async function findCapability(
  query: string,
  servers: readonly DiscoveredServer[],
  ranker: Ranker,
): Promise<readonly CapableServer[]> {
  const places = new Map<Tool, { readonly server: DiscoveredServer; readonly tool: DiscoveredTool }>();
  for (const server of servers) {
    const tools = server.tools.map((tool) => {
      const entry = toTool(tool, server.config.name);
      places.set(entry, { server, tool });
      return entry;
    });
    ranker.update(server.config.name, tools);
  }
  const { hits } = await ranker.rank(query, { limit: MAX_TOOLS });
  const found = new Map<DiscoveredServer, { tools: DiscoveredTool[]; relevance: number }>();
  for (const { tool: entry, relevance } of hits) {
    const place = places.get(entry);
    if (!place || relevance < MIN_RELEVANCE) continue;
    const known = found.get(place.server);
    if (known) known.tools.push(place.tool);
    else found.set(place.server, { tools: [place.tool], relevance });
  }
  return [...found].map(([{ config }, rest]) => ({ config, ...rest }));
}

function toTool(tool: DiscoveredTool, server: string): Tool {
  const { inputType: _in, outputType: _out, domains, categories, ...definition } = tool;
  return {
    ...definition,
    id: `${server}:${tool.name}`,
    server,
    builtin: false,
    tags: [...domains, ...categories],
    enabled: true,
  };
}

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
  /** Number of further matches that were left out. */
  readonly leftOut: number;
  /** Registries that could not be asked. */
  readonly troubles: readonly DiscoveryFailure[];
}

/** A registry may name hundreds of servers for a common word, and each would be connected. */
const MAX_SERVERS = 20;
/** Most servers that are taken if all are wanted. */
const ALL_SERVERS = 1_000;

/** Searches registries. Servers that were deleted there are left out. */
export async function searchRegistry(
  registries: Registries | undefined,
  query: string,
  {
    all,
    ...options
  }: { readonly useCache: boolean; readonly all: boolean; readonly signal?: AbortSignal | undefined },
): Promise<RegistryFindings> {
  const limit = all ? ALL_SERVERS : MAX_SERVERS;
  const { entries, troubles, leftOut = 0 } = (await registries?.search(query, { ...options, limit })) ?? none;
  const live = entries.filter(({ status }) => status !== "deleted").slice(0, limit);
  return {
    servers: live.map(toServer),
    leftOut,
    troubles: troubles.map((error) => ({ server: String(error.data["registry"] ?? "registry"), error })),
  };
}

const none = { entries: [], troubles: [], leftOut: 0 };

/** Describes an entry without a usable definition as a failure. */
export function toUnusableFailure({ name, config, reason }: RegistryServer): DiscoveryFailure[] {
  if (config) return [];
  const message = `The server "${name}", which a registry names, cannot be used: ${reason ?? "it cannot be read"}.`;
  return [{ server: name, error: new GatewayError("CONFIG_INVALID", message, { data: { server: name } }) }];
}

function toServer({ name, version, description, server }: RegistryEntry): RegistryServer {
  // A server with a URL can be asked without running a program.
  const isRemote = listUses(server).includes("remote");
  const raw = parseServerJson(server, isRemote ? { use: "remote" } : {});
  // Trusted as little as the definitions of a project.
  const { config, reason } = normalizeEntry(raw, { source: REGISTRY_SOURCE, scope: "project" });
  return { name, version, description, ...(config ? { config } : { reason }) };
}
