import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Tool } from "../../../core/mod.ts";
import {
  type LabelledQuery,
  meanQuality,
  percentile,
  type Quality,
  qualityOf,
} from "../../lib/evaluation.ts";
import type { Ranker } from "../mod.ts";

/** What a ranker costs and how well it does. */
export interface Evaluation extends Quality {
  readonly ranker: string;
  /** Of the queries that no tool fits, the share for which it finds nothing; absent where there are none. */
  readonly silence?: number;
  /** Milliseconds that half of the queries take at most, and 95 of 100. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Milliseconds of CPU a query. */
  readonly cpuMs: number;
  /** Milliseconds from the tools to the first answer. */
  readonly indexMs: number;
  /** How much memory the index takes, in millions of bytes. */
  readonly memoryMb: number;
}

/** One query as it was answered. */
export interface RunLine {
  readonly query: string;
  readonly ranked: readonly string[];
  readonly ms: number;
}

/** The first queries of a process are slow for reasons that are not the ranker's. */
const WARM_UP = 30;

/** Asks a ranker every query and measures it. */
export async function evaluateRanker(
  make: () => Promise<Ranker>,
  tools: readonly Tool[],
  queries: readonly LabelledQuery[],
  { limit, onProgress }: { readonly limit: number; readonly onProgress: (done: number) => void },
): Promise<{ readonly evaluation: Evaluation; readonly run: readonly RunLine[] }> {
  const servers = new Map<string, Tool[]>(tools.map(({ server }) => [server, []]));
  for (const tool of tools) servers.get(tool.server)?.push(tool);
  const before = memoryInUse();
  const began = performance.now();
  const ranker = await make();
  for (const [server, own] of servers) ranker.update(server, own);
  await ranker.rank(queries[0]?.query ?? "", { limit });
  const indexMs = performance.now() - began;
  const memoryMb = Math.max(0, memoryInUse() - before) / 1e6;

  for (const { query } of queries.slice(0, WARM_UP)) await ranker.rank(query, { limit });
  const run: RunLine[] = [];
  const cpuBefore = process.cpuUsage();
  for (const { query } of queries) {
    const asked = performance.now();
    const { hits } = await ranker.rank(query, { limit });
    run.push({ query, ranked: hits.map(({ tool }) => tool.id), ms: performance.now() - asked });
    onProgress(run.length);
  }
  const { user, system } = process.cpuUsage(cpuBefore);

  const wanting = queries.flatMap(({ relevant }, index) =>
    relevant.length > 0 ? [qualityOf(run[index]?.ranked ?? [], relevant)] : [],
  );
  const idle = run.filter((_, index) => queries[index]?.relevant.length === 0);
  const silent = idle.filter(({ ranked }) => ranked.length === 0);
  const times = run.map(({ ms }) => ms);
  const evaluation: Evaluation = {
    ranker: ranker.name,
    ...meanQuality(wanting),
    ...(idle.length > 0 && { silence: silent.length / idle.length }),
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    cpuMs: (user + system) / 1000 / queries.length,
    indexMs,
    memoryMb,
  };
  return { evaluation, run };
}

/** What is left in memory once the garbage is gone, where the runtime lets it be collected. */
function memoryInUse(): number {
  try {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
  } catch {
    // Then the figure is only near.
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
