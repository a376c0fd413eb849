import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { GatewayError, type Tool } from "../core/mod.ts";
import type { Column, ColumnAnswer, Evaluation, LabelledQuery, Progress, RankRequest } from "./protocol.ts";
import type { WorkerReply, WorkerTask } from "./worker.ts";

/** Threads that rank the tools of one catalog. */
export interface WorkerPool {
  rank(request: Pick<RankRequest, "query" | "columns" | "limit">): Promise<readonly ColumnAnswer[]>;
  /** Evaluates in its own thread, which the signal ends at once. */
  evaluate(
    task: { readonly queries: readonly LabelledQuery[]; readonly columns: readonly Column[] },
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<Evaluation>;
  close(): Promise<void>;
}

type TaskInput = WorkerTask extends infer Task
  ? Task extends { id: number }
    ? Omit<Task, "id">
    : never
  : never;

/** A thread with its pending tasks. */
interface RankingThread {
  ask(task: TaskInput, onProgress?: (progress: Progress) => void): Promise<unknown>;
  readonly ended: boolean;
  end(reason: string): Promise<void>;
}

/** Creates a pool. Threads start when they are needed. */
export function createWorkerPool(tools: readonly Tool[]): WorkerPool {
  const threads = new Set<RankingThread>();
  let ranking: RankingThread | undefined;
  const openThread = (): RankingThread => {
    const thread = startThread(tools);
    threads.add(thread);
    return thread;
  };
  const endThread = async (thread: RankingThread, reason: string): Promise<void> => {
    threads.delete(thread);
    await thread.end(reason);
  };

  return {
    async rank(request) {
      if (!ranking || ranking.ended) ranking = openThread();
      return (await ranking.ask({ rank: request })) as readonly ColumnAnswer[];
    },
    async evaluate(task, onProgress, signal) {
      const thread = openThread();
      const cancel = (): void => void endThread(thread, "The evaluation was cancelled.");
      signal.addEventListener("abort", cancel, { once: true });
      try {
        if (signal.aborted) cancel();
        return (await thread.ask({ evaluate: task }, onProgress)) as Evaluation;
      } finally {
        signal.removeEventListener("abort", cancel);
        await endThread(thread, "The evaluation is over.");
      }
    },
    async close() {
      await Promise.all([...threads].map((thread) => endThread(thread, "The playground is closing.")));
    },
  };
}

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: unknown): void;
  onProgress: ((progress: Progress) => void) | undefined;
}

function startThread(tools: readonly Tool[]): RankingThread {
  const { file, execArgv, env } = createThreadOptions();
  const worker = new Worker(file, { workerData: { tools }, execArgv, env });
  // The thread must not keep the process alive.
  worker.unref();
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended: string | undefined;

  const failAll = (reason: string, cause?: unknown): void => {
    ended ??= reason;
    for (const { reject } of waiting.values()) reject(new GatewayError("CLOSED", ended, { cause }));
    waiting.clear();
  };
  worker.on("message", (reply: WorkerReply) => {
    const pending = waiting.get(reply.id);
    if ("progress" in reply) return pending?.onProgress?.(reply.progress);
    waiting.delete(reply.id);
    if ("value" in reply) pending?.resolve(reply.value);
    else pending?.reject(new GatewayError("PLUGIN_FAILED", reply.error));
  });
  worker.on("error", (cause) => failAll("The ranking thread has failed.", cause));
  worker.on("exit", () => failAll("The ranking thread has ended."));

  return {
    get ended() {
      return ended !== undefined;
    },
    ask(task, onProgress) {
      if (ended !== undefined) return Promise.reject(new GatewayError("CLOSED", ended));
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, onProgress });
        worker.postMessage({ id, ...task });
      });
    },
    async end(reason) {
      failAll(reason);
      await worker.terminate();
    },
  };
}

/** Returns the options of the thread. Node 20 cannot run TypeScript sources, so jiti loads them there. */
function createThreadOptions(): { file: URL; execArgv: string[]; env: NodeJS.ProcessEnv } {
  const extension = extname(new URL(import.meta.url).pathname);
  const file = new URL(`./worker${extension}`, import.meta.url);
  const runsTypeScript =
    "Deno" in globalThis || Boolean((process.features as { typescript?: unknown }).typescript);
  if (extension !== ".ts" || runsTypeScript) return { file, execArgv: [], env: process.env };
  const jiti = dirname(createRequire(import.meta.url).resolve("jiti/package.json"));
  return {
    file,
    execArgv: ["--import", pathToFileURL(join(jiti, "lib/jiti-register.mjs")).href],
    // The default may be a folder that other users can write to.
    env: { ...process.env, JITI_FS_CACHE: join(jiti, "../.cache/jiti") },
  };
}
