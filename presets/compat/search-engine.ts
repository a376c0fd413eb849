import type { Tool } from "../../core/mod.ts";
import { loadSimple } from "../../plugins/search/mod.ts";
import type { CompatSearchOptions, CompatSearchResult, CompatToolMetadata } from "./types.ts";

const { calculateSimpleRelevance, simpleRanker } = await loadSimple();
const LIMIT = 10;

/**
 * Returns the relevance of a tool to a query, between 0 and 1, by the formula of the specification: the ranker `simple`.
 *
 * @example
 * ```ts
 * import { calculateRelevance } from "toolpipe/anygpt";
 *
 * const tool = { server: "github", name: "create_issue", summary: "Create an issue", enabled: true, tags: [] };
 * calculateRelevance(tool, "issue"); // 1
 * ```
 */
export function calculateRelevance(tool: CompatToolMetadata, query: string): number {
  return calculateSimpleRelevance(tool, query);
}

/** Searches tools by {@link calculateRelevance}. */
export class SearchEngine {
  #all = simpleRanker();
  #enabled = simpleRanker();

  /** Indexes these tools in place of those before. */
  index(tools: readonly CompatToolMetadata[]): void {
    this.#all = createIndex(tools);
    this.#enabled = createIndex(tools.filter(({ enabled }) => enabled));
  }

  search(query: string, options: CompatSearchOptions = {}): CompatSearchResult[] {
    const { server, limit, includeDisabled = false } = options;
    const ranker = includeDisabled ? this.#all : this.#enabled;
    return ranker.rank(query, { server, limit: limit || LIMIT }).hits.map(({ tool, relevance }) => ({
      server: tool.server,
      tool: tool.name,
      summary: tool.description ?? "",
      relevance,
      tags: [...tool.tags],
    }));
  }
}

function createIndex(tools: readonly CompatToolMetadata[]): ReturnType<typeof simpleRanker> {
  const byServer = new Map<string, Tool[]>();
  for (const tool of tools) {
    const own = byServer.get(tool.server);
    if (own) own.push(toTool(tool));
    else byServer.set(tool.server, [toTool(tool)]);
  }
  const ranker = simpleRanker();
  for (const [server, own] of byServer) ranker.update(server, own);
  return ranker;
}

function toTool({ server, name, summary, enabled, tags }: CompatToolMetadata): Tool {
  const id = `${server}:${name}`;
  const description = summary;
  return { id, server, name, description, inputSchema: {}, builtin: false, enabled, tags: [...tags] };
}
