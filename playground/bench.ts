import type { Tool } from "../core/mod.ts";
import { estimateTokens } from "../plugins/_tokens.ts";
import type { Hit, Ranker, Ranking } from "../plugins/search/ranker.ts";
import { defaultAnswers } from "../presets/_anygpt/options.ts";
import { packed } from "../presets/_anygpt/pack.ts";
import { summaryOf } from "../presets/_anygpt/shorten.ts";
import type { Column, ColumnAnswer, FoundTool, RankRequest } from "./protocol.ts";
import { makeRanker, optionsOf, type Stock } from "./rankers.ts";

/** Rankers over one catalog. */
export interface Bench {
  /** The ranker of a column, with all tools taken in. */
  ranker(column: Column): Promise<Ranker>;
  /** Asks the ranker of every column. One that fails says so, and costs the others nothing. */
  rank(request: Pick<RankRequest, "query" | "columns" | "limit">): Promise<readonly ColumnAnswer[]>;
}

/** A slider that is dragged asks for many; what was just left is often returned to. */
const KEPT = 12;
const LONGEST_DESCRIPTION = 2_000;

/** Makes a bench. */
export function createBench(tools: readonly Tool[]): Bench {
  const byServer = grouped(tools);
  const made = new Map<string, Promise<Ranker>>();

  const ranker = (column: Column): Promise<Ranker> => {
    const key = JSON.stringify([column.ranker, Object.entries(column.settings).sort()]);
    const known = made.get(key) ?? make(column);
    // The last one asked for is the last to go.
    made.delete(key);
    made.set(key, known);
    if (made.size > KEPT) made.delete(made.keys().next().value as string);
    return known;
  };

  const shared = new Map<string, unknown>();
  const stock: Stock = {
    fill(taker) {
      for (const [server, own] of byServer) taker.update(server, own);
      return taker;
    },
    shared<T>(name: string, makeOnce: () => T): T {
      if (!shared.has(name)) shared.set(name, makeOnce());
      return shared.get(name) as T;
    },
  };
  const make = ({ ranker: name, settings }: Column): Promise<Ranker> =>
    makeRanker(name, optionsOf(settings), stock);

  return {
    ranker,
    async rank({ query, columns, limit = 10 }) {
      const answers: ColumnAnswer[] = [];
      for (const column of columns) answers.push(await ask(() => ranker(column), query, limit));
      return answers;
    },
  };
}

async function ask(ready: () => Promise<Ranker>, query: string, limit: number): Promise<ColumnAnswer> {
  try {
    const ranker = await ready();
    // Explaining takes time that an agent does not spend, and what is done for the first time takes longer.
    const { hits, nearest } = await ranker.rank(query, { limit, explain: true });
    const began = performance.now();
    const plain = await ranker.rank(query, { limit });
    const ms = performance.now() - began;
    return {
      ms,
      hits: hits.map(shown),
      nearest: nearest.map(({ id }) => id),
      tokens: answerTokens(plain),
    };
  } catch (thrown) {
    const error = `This ranker cannot be asked: ${thrown instanceof Error ? thrown.message : "it failed"}`;
    return { ms: 0, hits: [], nearest: [], tokens: 0, error };
  }
}

function shown({ tool, relevance, why }: Hit): FoundTool {
  return {
    id: tool.id,
    server: tool.server,
    name: tool.name,
    description: (tool.description ?? "").slice(0, LONGEST_DESCRIPTION),
    relevance,
    shares: why?.shares ?? {},
    terms: why?.terms ?? [],
  };
}

/** About what an agent would pay to read this answer, as the five meta-tools give it. */
export function answerTokens({ hits }: Ranking): number {
  const results = hits.slice(0, 10).map(({ tool, relevance }) => ({
    server: tool.server,
    tool: tool.name,
    summary: summaryOf(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  }));
  return Math.round(estimateTokens(JSON.stringify(packed(results, defaultAnswers.searchTokens))));
}

function grouped(tools: readonly Tool[]): Map<string, Tool[]> {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.server);
    if (group) group.push(tool);
    else groups.set(tool.server, [tool]);
  }
  return groups;
}
