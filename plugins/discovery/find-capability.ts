import type { Tool } from "../../core/mod.ts";
import type { Ranker } from "../../core/services/search.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import type { DiscoveredServer, DiscoveredTool, DiscoveryFailure } from "./discovered.ts";

/** A server with tools that fit a capability. */
export interface CapableServer {
  readonly config: ServerConfig;
  /** The tools that fit, best first; all of them where the server itself was what fitted. */
  readonly tools: readonly DiscoveredTool[];
  /** Between 0 and 1, of its best tool; absent where a registry chose it. */
  readonly relevance?: number | undefined;
}

/** Result of the search for a capability. */
export interface CapabilitySearch {
  /** Whether the servers are the user's own, or were found in a registry. */
  readonly from: "configured" | "registry";
  readonly servers: readonly CapableServer[];
  /** Servers that could not be asked. */
  readonly failures: readonly DiscoveryFailure[];
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
