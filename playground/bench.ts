import type { Tool } from "../core/mod.ts";
import type { Hit, Ranker, Ranking } from "../core/services/search.ts";
import { summarize } from "../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../plugins/lib/tokens.ts";
import { createRanker } from "../plugins/search/mod.ts";
import { defaultAnswers } from "../presets/anygpt/answers.ts";
import { packSearchResults } from "../presets/anygpt/pack.ts";
import type { Column, ColumnAnswer, FoundTool, RankRequest } from "./protocol.ts";
import { toSearchOptions } from "./rankers.ts";

/** Rankers over one catalog. */
export interface Bench {
  /** Returns the ranker of a column, filled with all tools. */
  ranker(column: Column): Promise<Ranker>;
  /** Asks the ranker of every column. A failure is part of the answer, and does not affect the others. */
  rank(request: Pick<RankRequest, "query" | "columns" | "limit">): Promise<readonly ColumnAnswer[]>;
}

/** Limit of cached rankers: a dragged slider creates many, and users return to recent values. */
const MAX_RANKERS = 12;
const MAX_DESCRIPTION = 2_000;

/** Creates a bench. */
export function createBench(tools: readonly Tool[]): Bench {
  const byServer = groupByServer(tools);
  const cached = new Map<string, Promise<Ranker>>();
  /** The first ranker of each name; the others take their index from it instead of reading all tools again. */
  const first = new Map<string, Ranker>();

  const ranker = (column: Column): Promise<Ranker> => {
    const key = JSON.stringify([column.ranker, Object.entries(column.settings).sort()]);
    const known = cached.get(key) ?? create(column);
    // The most recently used is the last to go.
    cached.delete(key);
    cached.set(key, known);
    if (cached.size > MAX_RANKERS) cached.delete(cached.keys().next().value as string);
    return known;
  };

  const create = async ({ ranker: name, settings }: Column): Promise<Ranker> => {
    const created = await createRanker(name, toSearchOptions(settings));
    const donor = first.get(name)?.snapshot;
    if (donor) created.snapshot?.load(donor.save());
    for (const [server, own] of byServer) created.update(server, own);
    if (!donor) first.set(name, created);
    return created;
  };

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
    // Measured without explanations, which an agent does not ask for, and not on the first run, which takes longer.
    const { hits, nearest } = await ranker.rank(query, { limit, explain: true });
    const began = performance.now();
    const plain = await ranker.rank(query, { limit });
    const ms = performance.now() - began;
    return {
      ms,
      hits: hits.map(toFoundTool),
      nearest: nearest.map(({ id }) => id),
      tokens: countAnswerTokens(plain),
    };
  } catch (thrown) {
    const error = `This ranker cannot be asked: ${thrown instanceof Error ? thrown.message : "it failed"}`;
    return { ms: 0, hits: [], nearest: [], tokens: 0, error };
  }
}

function toFoundTool({ tool, relevance, why }: Hit): FoundTool {
  return {
    id: tool.id,
    server: tool.server,
    name: tool.name,
    description: (tool.description ?? "").slice(0, MAX_DESCRIPTION),
    relevance,
    shares: why?.scores ?? {},
    terms: why?.terms ?? [],
  };
}

/** Estimates the tokens an agent pays for this answer of `search_tools`. */
export function countAnswerTokens({ hits }: Ranking): number {
  const results = hits.slice(0, 10).map(({ tool, relevance }) => ({
    server: tool.server,
    tool: tool.name,
    summary: summarize(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  }));
  return Math.round(estimateTokens(JSON.stringify(packSearchResults(results, defaultAnswers.searchTokens))));
}

function groupByServer(tools: readonly Tool[]): Map<string, Tool[]> {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.server);
    if (group) group.push(tool);
    else groups.set(tool.server, [tool]);
  }
  return groups;
}
