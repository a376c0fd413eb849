import { parentPort, workerData } from "node:worker_threads";
import type { Tool } from "../core/mod.ts";
import { createBench } from "./bench.ts";
import { evaluate } from "./evaluation.ts";
import type { Column, ColumnAnswer, Evaluation, LabelledQuery, Progress, RankRequest } from "./protocol.ts";

/** Task of a worker. */
export interface WorkerTask {
  readonly id: number;
  readonly rank?: Pick<RankRequest, "query" | "columns" | "limit">;
  readonly evaluate?: { readonly queries: readonly LabelledQuery[]; readonly columns: readonly Column[] };
}

/** Reply of a worker: progress, a result or an error. */
export type WorkerReply =
  | { readonly id: number; readonly progress: Progress }
  | { readonly id: number; readonly value: readonly ColumnAnswer[] | Evaluation }
  | { readonly id: number; readonly error: string };

// Ranking runs beside the thread that serves the page, so that the page can always cancel it.
const { tools } = workerData as { readonly tools: readonly Tool[] };
const bench = createBench(tools);
const ids = new Set(tools.map(({ id }) => id));
const reply = (message: WorkerReply): void => parentPort?.postMessage(message);

parentPort?.on("message", (task: WorkerTask) => {
  run(task).then(
    (value) => reply({ id: task.id, value }),
    (thrown: unknown) =>
      reply({ id: task.id, error: thrown instanceof Error ? thrown.message : "The ranker failed." }),
  );
});

async function run(task: WorkerTask): Promise<readonly ColumnAnswer[] | Evaluation> {
  if (task.rank) return bench.rank(task.rank);
  const { queries = [], columns = [] } = task.evaluate ?? {};
  const open = () => createBench(tools);
  return evaluate({
    bench: open,
    queries,
    columns,
    knows: (id) => ids.has(id),
    onProgress: (progress) => reply({ id: task.id, progress }),
  });
}
