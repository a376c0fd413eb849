import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fromRoot } from "../bench/_root.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { type Findings, inspect } from "./inspect.ts";

/** Which store is tried, and how hard. */
export interface TortureOptions {
  readonly store: "file" | "redis";
  /** How many processes are killed. */
  readonly trials: number;
  /** A folder of its own. */
  readonly folder: string;
  /** How many live at once; 2 by default. */
  readonly lanes?: number;
  /** Redis itself is killed after so many, and started again on what it has written; never by default. */
  readonly killRedisEvery?: number;
  readonly onTrial?: (done: number) => void;
}

/** A process is killed a moment after it has printed this many lines, so that it gets as far on a slow machine as on a fast one. */
const MAX_LINES = 12;
const MOMENT_MS = 12;

/**
 * Kills processes in the middle of calls, one after another, and looks at what they leave. Each repeats calls of those
 * before it.
 */
export async function torture(options: TortureOptions): Promise<Findings> {
  const { store, trials, folder, lanes = 2, killRedisEvery = Number.POSITIVE_INFINITY, onTrial } = options;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "ledger"), "");
  let redis: TestRedis | undefined = store === "redis" ? await startRedis(...lasting(folder)) : undefined;
  const { port, url } = redis ?? {};
  const said: string[] = [];
  let begun = 0;
  let done = 0;
  try {
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        while (begun < trials) {
          const round = ++begun;
          said.push(...(await killed(folder, round, url)));
          onTrial?.(++done);
          if (!redis || round % killRedisEvery !== 0) continue;
          const old = redis;
          redis = undefined;
          await old.stop();
          redis = await startRedis(...lasting(folder), "--port", String(port));
        }
      }),
    );
  } finally {
    await redis?.stop();
  }
  return inspect(folder, said);
}

/** Options of Redis with which it loses no confirmed write. */
function lasting(folder: string): string[] {
  return ["--dir", folder, "--appendonly", "yes", "--appendfsync", "always"];
}

/** Starts a process that charges, kills it a moment later, and returns what it said. */
async function killed(folder: string, round: number, redis: string | undefined): Promise<string[]> {
  const file = fromRoot("test", "torture", "_worker.mjs");
  const run = "Deno" in globalThis ? ["run", "-A"] : [];
  const args = [...run, file, folder, String(round), ...(redis === undefined ? [] : [redis])];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  const said: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const ended = Promise.all([once(child, "close"), once(reader, "close")]);
  const enough = Math.floor(Math.random() * MAX_LINES);
  reader.on("line", (line) => {
    if (line !== "ready") said.push(line);
    if (said.length === enough) setTimeout(() => child.kill("SIGKILL"), Math.random() * MOMENT_MS);
  });
  await ended;
  return said;
}
