import type { Ranker } from "../core/services/search.ts";
import { type Bench, countAnswerTokens } from "./bench.ts";
import { doublingEdges, evenEdges, ndcgAt, recallAt, reciprocalRank, spreadOf } from "./metrics.ts";
import type { Column, ColumnResult, Evaluation, LabelledQuery, Progress, QueryOutcome } from "./protocol.ts";

/** The curves go this far. */
const DEPTH = 20;
/** What runs for the first time is slower than it will ever be again. */
const WARM_UP = 20;
const PROGRESS_MS = 50;
/** From 8 µs to a second. */
const latencyEdges = doublingEdges(1 / 128, 17);
const tokenEdges = evenEdges(20, 15);

/** What is evaluated. */
export interface EvaluationTask {
  /** Makes an empty one, since what a ranker can take from another is not what its index takes. */
  readonly bench: () => Bench;
  readonly queries: readonly LabelledQuery[];
  readonly columns: readonly Column[];
  /** Whether the catalog has a tool. */
  readonly knows: (id: string) => boolean;
  readonly onProgress: (progress: Progress) => void;
}

/** Asks every ranker every query, and says how each did. */
export async function evaluate(task: EvaluationTask): Promise<Evaluation> {
  const { queries, columns, knows } = task;
  const results: ColumnResult[] = [];
  for (const [index, column] of columns.entries()) results.push(await evaluateColumn(task, column, index));
  const strangers = queries.filter(({ relevant }) => relevant.some((id) => !knows(id))).length;
  return { queries, strangers, columns: results };
}

async function evaluateColumn(task: EvaluationTask, column: Column, index: number): Promise<ColumnResult> {
  const { bench, queries, onProgress } = task;
  const tell = (done: number): void =>
    onProgress({ column: index, ranker: column.ranker, done, total: queries.length });
  tell(0);
  const began = performance.now();
  const ranker = await bench().ranker(column);
  const indexMs = performance.now() - began;
  for (const { query } of queries.slice(0, WARM_UP)) await ranker.rank(query, { limit: DEPTH });
  const asked: Asked[] = [];
  let told = performance.now();
  for (const labelled of queries) {
    asked.push(await ask(ranker, labelled));
    if (performance.now() - told < PROGRESS_MS) continue;
    told = performance.now();
    tell(asked.length);
  }
  tell(queries.length);
  return { column, indexMs, ...summaryOf(asked) };
}

interface Asked {
  readonly outcome: QueryOutcome;
  readonly ranked: readonly string[];
  readonly wanted: ReadonlySet<string>;
}

async function ask(ranker: Ranker, { query, relevant }: LabelledQuery): Promise<Asked> {
  const began = performance.now();
  const ranking = await ranker.rank(query, { limit: DEPTH });
  const ms = performance.now() - began;
  const ranked = ranking.hits.map(({ tool }) => tool.id);
  const wanted = new Set(relevant);
  const outcome = {
    rank: ranked.findIndex((id) => wanted.has(id)) + 1,
    ndcg: wanted.size > 0 ? ndcgAt(10, ranked, wanted) : Number(ranked.length === 0),
    ms,
    tokens: countAnswerTokens(ranking),
    top: ranked.slice(0, 3),
  };
  return { outcome, ranked, wanted };
}

function summaryOf(asked: readonly Asked[]): Omit<ColumnResult, "column" | "indexMs"> {
  const outcomes = asked.map(({ outcome }) => outcome);
  const answerable = asked.filter(({ wanted }) => wanted.size > 0);
  const unanswerable = asked.filter(({ wanted }) => wanted.size === 0);
  const depths = Array.from({ length: DEPTH }, (_, index) => index + 1);
  const curve = (metric: typeof recallAt): number[] =>
    depths.map((k) => mean(answerable.map(({ ranked, wanted }) => metric(k, ranked, wanted))));
  return {
    recall: curve(recallAt),
    ndcg: curve(ndcgAt),
    mrr: mean(answerable.map(({ ranked, wanted }) => reciprocalRank(ranked, wanted))),
    ...(unanswerable.length > 0 && { silent: mean(unanswerable.map(({ outcome }) => outcome.ndcg)) }),
    latency: spreadOf(
      outcomes.map(({ ms }) => ms),
      latencyEdges,
    ),
    tokens: spreadOf(
      outcomes.map(({ tokens }) => tokens),
      tokenEdges,
    ),
    outcomes,
  };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
