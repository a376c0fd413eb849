/**
 * A ranker: counts how many words of a query the name and the description of a tool have.
 *
 * { "search": { "ranker": "./ranker.ts" } } or, with an option of its own,
 * { "search": { "ranker": { "type": "./ranker.ts", "nameWeight": 3 } } }
 */
import type { Tool } from "toolpipe";
import type { RankerDriver } from "toolpipe/services";

const splitWords = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

export const ranker: RankerDriver = ({ nameWeight = 2 }) => {
  const servers = new Map<string, readonly Tool[]>();
  const weight = Number(nameWeight);

  function score(tool: Tool, words: ReadonlySet<string>): number {
    const name = new Set(splitWords(tool.name));
    const description = new Set(splitWords(tool.description ?? ""));
    let sum = 0;
    for (const word of words) sum += (name.has(word) ? weight : 0) + (description.has(word) ? 1 : 0);
    // A short name that fits as a whole comes before a long one that has the words too.
    return sum / (words.size * (weight + 1)) / (1 + name.size / 100);
  }

  return {
    name: "words",
    update: (server, tools) => void servers.set(server, tools),
    rank(query, { server, limit = 10 } = {}) {
      const words = new Set(splitWords(query));
      const tools = server === undefined ? [...servers.values()].flat() : (servers.get(server) ?? []);
      const hits = tools
        .map((tool) => ({ tool, relevance: words.size > 0 ? score(tool, words) : 0 }))
        .filter(({ relevance }) => relevance > 0)
        .sort((a, b) => b.relevance - a.relevance || (a.tool.id < b.tool.id ? -1 : 1));
      return { hits: hits.slice(0, Math.max(0, limit)), nearest: [] };
    },
  };
};
