import type { Tool } from "../../core/mod.ts";
import type { Hit, Ranker, Ranking, RankOptions } from "../../core/services/search.ts";

/** Every word is searched in every tool, so a pasted page must not count as a query. */
const MAX_WORDS = 100;

interface Entry {
  readonly tool: Pick<Tool, "tags">;
  readonly name: string;
  readonly summary: string;
}

interface ToolEntry extends Entry {
  readonly tool: Tool;
}

/** A ranker that answers at once. */
interface SimpleRanker extends Ranker {
  rank(query: string, options?: RankOptions): Ranking;
}

/**
 * Ranks by the formula of the AnyGPT specification: the whole query in the name 1.0, in the summary 0.8,
 * each word in the name 0.5, in the summary 0.3, each tag in the query 0.3. Tools are ordered by the full
 * sum; only the reported relevance stops at 1.
 */
export function simpleRanker(): SimpleRanker {
  const entries = new Map<string, ToolEntry[]>();
  return {
    name: "simple",
    update(server, tools) {
      const own = tools.map((tool) => ({ tool, ...toEntry(tool.name, tool.description ?? "") }));
      if (own.length > 0) entries.set(server, own);
      else entries.delete(server);
    },
    rank(query, { server, limit = 10, explain = false } = {}) {
      const text = query.trim().toLowerCase();
      if (text === "") return { hits: [], nearest: [] };
      const words = text.split(/\s+/).slice(0, MAX_WORDS);
      const hits: Hit[] = [];
      const searched = server === undefined ? [...entries.values()].flat() : (entries.get(server) ?? []);
      for (const entry of searched) {
        const relevance = score(entry, text, words);
        if (relevance > 0) hits.push({ tool: entry.tool, relevance });
      }
      const best = hits
        .sort((a, b) => b.relevance - a.relevance || (a.tool.id < b.tool.id ? -1 : 1))
        .slice(0, Math.max(0, limit))
        .map(({ tool, relevance }) => ({
          tool,
          relevance: Math.min(relevance, 1),
          ...(explain && { why: { scores: { simple: relevance }, terms: [] } }),
        }));
      return { hits: best, nearest: [] };
    },
  };
}

/** Returns the relevance of one tool to a query by the same formula. */
export function calculateSimpleRelevance(
  tool: { readonly name: string; readonly summary: string; readonly tags: readonly string[] },
  query: string,
): number {
  const text = query.trim().toLowerCase();
  const entry = { tool: { tags: [...tool.tags] }, ...toEntry(tool.name, tool.summary) };
  return Math.min(score(entry, text, text.split(/\s+/).slice(0, MAX_WORDS)), 1);
}

function toEntry(name: string, summary: string): { readonly name: string; readonly summary: string } {
  return { name: name.toLowerCase(), summary: summary.toLowerCase() };
}

function score({ tool, name, summary }: Entry, query: string, words: readonly string[]): number {
  let sum = (name.includes(query) ? 1 : 0) + (summary.includes(query) ? 0.8 : 0);
  for (const word of words) sum += (name.includes(word) ? 0.5 : 0) + (summary.includes(word) ? 0.3 : 0);
  for (const tag of tool.tags) sum += query.includes(tag.toLowerCase()) ? 0.3 : 0;
  return sum;
}
