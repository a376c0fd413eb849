import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { GatewayError, type Tool } from "../core/mod.ts";
import type { Column, ColumnAnswer, Evaluation, LabelledQuery, Progress, RankRequest } from "./protocol.ts";
import type { WorkerReply, WorkerTask } from "./worker.ts";

/** Threads that rank over one catalog. */
export interface Workshop {
  rank(request: Pick<RankRequest, "query" | "columns" | "limit">): Promise<readonly ColumnAnswer[]>;
  /** Evaluates in a thread of its own, which ends at once when the signal says so. */
  evaluate(
    task: { readonly queries: readonly LabelledQuery[]; readonly columns: readonly Column[] },
    onProgress: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<Evaluation>;
  close(): Promise<void>;
}

type Question = WorkerTask extends infer Task
  ? Task extends { id: number }
    ? Omit<Task, "id">
    : never
  : never;

/** One thread, and what it has been asked. */
interface Hand {
  ask(question: Question, onProgress?: (progress: Progress) => void): Promise<unknown>;
  readonly ended: boolean;
  end(reason: string): Promise<void>;
}

/** Makes a workshop. Threads are started when they are needed. */
export function createWorkshop(tools: readonly Tool[]): Workshop {
  const hands = new Set<Hand>();
  let ranking: Hand | undefined;
  const hire = (): Hand => {
    const hand = startHand(tools);
    hands.add(hand);
    return hand;
  };
  const dismiss = async (hand: Hand, reason: string): Promise<void> => {
    hands.delete(hand);
    await hand.end(reason);
  };

  return {
    async rank(request) {
      if (!ranking || ranking.ended) ranking = hire();
      return (await ranking.ask({ rank: request })) as readonly ColumnAnswer[];
    },
    async evaluate(task, onProgress, signal) {
      const hand = hire();
      const cancel = (): void => void dismiss(hand, "The evaluation was cancelled.");
      signal.addEventListener("abort", cancel, { once: true });
      try {
        if (signal.aborted) cancel();
        return (await hand.ask({ evaluate: task }, onProgress)) as Evaluation;
      } finally {
        signal.removeEventListener("abort", cancel);
        await dismiss(hand, "The evaluation is over.");
      }
    },
    async close() {
      await Promise.all([...hands].map((hand) => dismiss(hand, "The playground is closing.")));
    },
  };
}

interface Waiting {
  resolve(value: unknown): void;
  reject(reason: unknown): void;
  onProgress: ((progress: Progress) => void) | undefined;
}

function startHand(tools: readonly Tool[]): Hand {
  const { file, execArgv, env } = entry();
  const worker = new Worker(file, { workerData: { tools }, execArgv, env });
  // It must not keep the process: who waits for an answer does.
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
    const asked = waiting.get(reply.id);
    if ("progress" in reply) return asked?.onProgress?.(reply.progress);
    waiting.delete(reply.id);
    if ("value" in reply) asked?.resolve(reply.value);
    else asked?.reject(new GatewayError("PLUGIN_FAILED", reply.error));
  });
  worker.on("error", (cause) => failAll("The thread that ranks has failed.", cause));
  worker.on("exit", () => failAll("The thread that ranks has ended."));

  return {
    get ended() {
      return ended !== undefined;
    },
    ask(question, onProgress) {
      if (ended !== undefined) return Promise.reject(new GatewayError("CLOSED", ended));
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, onProgress });
        worker.postMessage({ id, ...question });
      });
    },
    async end(reason) {
      failAll(reason);
      await worker.terminate();
    },
  };
}

/** The sources run as they are, but for Node 20, which cannot read them: there they are read by jiti. */
function entry(): { file: URL; execArgv: string[]; env: NodeJS.ProcessEnv } {
  const ending = extname(new URL(import.meta.url).pathname);
  const file = new URL(`./worker${ending}`, import.meta.url);
  const reads = "Deno" in globalThis || Boolean((process.features as { typescript?: unknown }).typescript);
  if (ending !== ".ts" || reads) return { file, execArgv: [], env: process.env };
  const jiti = dirname(createRequire(import.meta.url).resolve("jiti/package.json"));
  return {
    file,
    execArgv: ["--import", pathToFileURL(join(jiti, "lib/jiti-register.mjs")).href],
    // By itself it may choose a folder that everybody can write to.
    env: { ...process.env, JITI_FS_CACHE: join(jiti, "../.cache/jiti") },
  };
}
