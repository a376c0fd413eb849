import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../core/mod.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** How `toolpipe` is started as a process: the build on Node, the sources on Deno. */
export const toolpipeCommand: readonly [string, ...string[]] =
  "Deno" in globalThis
    ? [process.execPath, "run", "-A", join(root, "plugins/cli/toolpipe.ts")]
    : [process.execPath, join(root, "dist/plugins/cli/toolpipe.js")];

/** `toolpipe serve` as a process, with what it writes. */
export interface Serving {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly errors: readonly string[];
  readonly exit: Promise<unknown[]>;
  /** Sends a request over standard input and waits for its answer. */
  request(method: string, params?: object): Promise<JsonObject>;
  /** Writes a line to standard input as it is. */
  write(line: string): void;
  /** Waits for the answer to a request, and takes it. */
  answer(id: unknown): Promise<JsonObject>;
  /** Waits until it has written a line to standard error. */
  line(part: string): Promise<string>;
}

/** Where a process runs. */
export interface SpawnPlace {
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts `toolpipe serve`, in the folder and environment of this process or others, until the test is over. */
export function startServe(args: readonly string[], place: SpawnPlace = {}): Serving {
  const serving = spawnServe(args, place);
  onTestFinished(() => void serving.child.kill("SIGKILL"));
  return serving;
}

/** Starts `toolpipe serve`; the caller ends it. */
export function spawnServe(args: readonly string[], place: SpawnPlace = {}): Serving {
  const [command, ...own] = toolpipeCommand;
  const child = spawn(command, [...own, "serve", ...args], { ...place, stdio: "pipe" });
  const errors: string[] = [];
  const answers = new Map<unknown, JsonObject>();
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  createInterface(child.stdout).on("line", (line) => {
    const message = JSON.parse(line) as JsonObject;
    if (message["id"] !== undefined) answers.set(message["id"], message);
    tell();
  });
  createInterface(child.stderr).on("line", (line) => {
    errors.push(line);
    tell();
  });
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const again = (): void => {
        const found = look();
        if (found !== undefined) resolve(found);
        else if (child.exitCode !== null) reject(new Error(`It has ended: ${errors.join("\n")}`));
        else return;
        waiting.delete(again);
      };
      waiting.add(again);
      again();
    });
  child.once("close", tell);
  let ids = 0;
  const write = (line: string): void => void child.stdin.write(`${line}\n`);
  const answer = async (id: unknown): Promise<JsonObject> => {
    const message = await until(() => answers.get(id));
    answers.delete(id);
    return message;
  };
  return {
    pid: Number(child.pid),
    child,
    errors,
    exit: once(child, "exit"),
    request(method, params) {
      const id = ++ids;
      write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      return answer(id);
    },
    write,
    answer,
    line: (part) => until(() => errors.find((line) => line.includes(part))),
  };
}
