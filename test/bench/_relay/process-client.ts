import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";

/** A program that speaks MCP, and a client of it without any library. */
export interface ProcessClient {
  readonly pid: number;
  /** Sends a request, and resolves with its result. */
  request(method: string, params?: object): Promise<unknown>;
  /** CPU milliseconds of the process so far, without those of processes that it started. */
  cpuMs(): number;
  /** Its memory in MB. */
  memoryMb(): number;
  end(): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Starts a program. */
export function processClient(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): ProcessClient {
  const child: ChildProcess = spawn(command, [...args], { env, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let last = 0;
  let rest = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line) as Message;
      const asked = waiting.get(id ?? -1);
      waiting.delete(id ?? -1);
      if (error) asked?.reject(new Error(error.message));
      else asked?.resolve(result);
    }
  });
  const pid = child.pid ?? 0;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    pid,
    request(method, params = {}) {
      const id = ++last;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      });
    },
    cpuMs: () => readCpu(pid),
    memoryMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024,
    async end() {
      child.stdin?.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** All threads count: collecting garbage and compiling are work too. */
function readCpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
