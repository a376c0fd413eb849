import type { Ranker } from "../core/services/search.ts";
import { computeNdcg, computeRecall, percentile, reciprocalRank } from "../plugins/lib/evaluation.ts";
import { type Bench, countAnswerTokens } from "./bench.ts";
import type {
  Column,
  ColumnResult,
  Evaluation,
  LabelledQuery,
  Progress,
  QueryOutcome,
  Spread,
} from "./protocol.ts";

/** Depth of the curves. */
const DEPTH = 20;
/** Queries that run before the measurement: the first runs are slower. */
const WARM_UP = 20;
const PROGRESS_MS = 50;
/** From 8 µs to a second. */
const latencyEdges = doublingEdges(1 / 128, 17);
const tokenEdges = evenEdges(20, 15);

/** Options of {@link evaluate}. */
export interface EvaluationTask {
  /** Creates an empty bench, so that no ranker takes its index from another one. */
  readonly bench: () => Bench;
  readonly queries: readonly LabelledQuery[];
  readonly columns: readonly Column[];
  /** Checks if the catalog has a tool. */
  readonly knows: (id: string) => boolean;
  readonly onProgress: (progress: Progress) => void;
}

/** Runs every query with every ranker and computes the metrics. */
export async function evaluate(task: EvaluationTask): Promise<Evaluation> {
  const { queries, columns, knows } = task;
  const results: ColumnResult[] = [];
  for (const [index, column] of columns.entries()) results.push(await evaluateColumn(task, column, index));
  const strangers = queries.filter(({ relevant }) => relevant.some((id) => !knows(id))).length;
  return { queries, strangers, columns: results };
}

async function evaluateColumn(task: EvaluationTask, column: Column, index: number): Promise<ColumnResult> {
  const { bench, queries, onProgress } = task;
  const report = (done: number): void =>
    onProgress({ column: index, ranker: column.ranker, done, total: queries.length });
  report(0);
  const began = performance.now();
  const ranker = await bench().ranker(column);
  const indexMs = performance.now() - began;
  for (const { query } of queries.slice(0, WARM_UP)) await ranker.rank(query, { limit: DEPTH });
  const runs: QueryRun[] = [];
  let reportedAt = performance.now();
  for (const labelled of queries) {
    runs.push(await runQuery(ranker, labelled));
    if (performance.now() - reportedAt < PROGRESS_MS) continue;
    reportedAt = performance.now();
    report(runs.length);
  }
  report(queries.length);
  return { column, indexMs, ...summarizeColumn(runs) };
}

interface QueryRun {
  readonly outcome: QueryOutcome;
  readonly ranked: readonly string[];
  readonly wanted: ReadonlySet<string>;
}

async function runQuery(ranker: Ranker, { query, relevant }: LabelledQuery): Promise<QueryRun> {
  const began = performance.now();
  const ranking = await ranker.rank(query, { limit: DEPTH });
  const ms = performance.now() - began;
  const ranked = ranking.hits.map(({ tool }) => tool.id);
  const wanted = new Set(relevant);
  const outcome = {
    rank: ranked.findIndex((id) => wanted.has(id)) + 1,
    ndcg: wanted.size > 0 ? computeNdcg(10, ranked, wanted) : Number(ranked.length === 0),
    ms,
    tokens: countAnswerTokens(ranking),
    top: ranked.slice(0, 3),
  };
  return { outcome, ranked, wanted };
}

function summarizeColumn(runs: readonly QueryRun[]): Omit<ColumnResult, "column" | "indexMs"> {
  const outcomes = runs.map(({ outcome }) => outcome);
  const answerable = runs.filter(({ wanted }) => wanted.size > 0);
  const unanswerable = runs.filter(({ wanted }) => wanted.size === 0);
  const depths = Array.from({ length: DEPTH }, (_, index) => index + 1);
  const curve = (metric: typeof computeRecall): number[] =>
    depths.map((k) => mean(answerable.map(({ ranked, wanted }) => metric(k, ranked, wanted))));
  return {
    recall: curve(computeRecall),
    ndcg: curve(computeNdcg),
    mrr: mean(answerable.map(({ ranked, wanted }) => reciprocalRank(ranked, wanted))),
    ...(unanswerable.length > 0 && { silent: mean(unanswerable.map(({ outcome }) => outcome.ndcg)) }),
    latency: computeSpread(
      outcomes.map(({ ms }) => ms),
      latencyEdges,
    ),
    tokens: computeSpread(
      outcomes.map(({ tokens }) => tokens),
      tokenEdges,
    ),
    outcomes,
  };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Computes percentiles and a histogram. Values outside the edges count in the first or last bin. */
function computeSpread(values: readonly number[], edges: readonly number[]): Spread {
  const counts = Array.from({ length: edges.length - 1 }, () => 0);
  for (const value of values) {
    let bin = 0;
    while (bin < counts.length - 1 && value >= (edges[bin + 1] as number)) bin++;
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { p50: percentile(values, 0.5), p95: percentile(values, 0.95), histogram: { edges, counts } };
}

/** Creates edges that double, for values that differ by orders of magnitude. */
function doublingEdges(from: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, index) => from * 2 ** index);
}

/** Creates edges at equal distances. */
function evenEdges(step: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, index) => step * index);
}
