import type { Tool } from "../../core/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import type { DiscoveredServer, DiscoveredTool, DiscoveryFailure } from "./discovered.ts";

/** A server that has what somebody looks for. */
export interface FoundServer {
  readonly config: ServerConfig;
  /** The tools that fit, best first; all of them where the server itself was what fitted. */
  readonly tools: readonly DiscoveredTool[];
  /** Between 0 and 1, of its best tool; absent where a registry chose it. */
  readonly relevance?: number | undefined;
}

/** Where a capability was found. */
export interface CapabilitySearch {
  /** Whether the servers are the person's own, or were found in a registry. */
  readonly from: "configured" | "registry";
  readonly servers: readonly FoundServer[];
  /** Servers that could not be asked. */
  readonly failures: readonly DiscoveryFailure[];
}

/** Below this, the best tool is the wrong one more often than not, and a registry may know better. */
const LIKELY = 0.5;
const MOST_TOOLS = 50;

/** The servers that have a capability, best first, by the words of their tools. */
export async function findCapability(
  query: string,
  servers: readonly DiscoveredServer[],
): Promise<readonly FoundServer[]> {
  const { keywordRanker } = await import("../search/keyword.ts");
  const ranker = keywordRanker();
  const places = new Map<Tool, { readonly server: DiscoveredServer; readonly tool: DiscoveredTool }>();
  for (const server of servers) {
    const tools = server.tools.map((tool) => {
      const entry = toTool(tool, server.config.name);
      places.set(entry, { server, tool });
      return entry;
    });
    ranker.update(server.config.name, tools);
  }
  const { hits } = await ranker.rank(query, { limit: MOST_TOOLS });
  const found = new Map<DiscoveredServer, { tools: DiscoveredTool[]; relevance: number }>();
  for (const { tool: entry, relevance } of hits) {
    const place = places.get(entry);
    if (!place || relevance < LIKELY) continue;
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
