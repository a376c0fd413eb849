import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Held } from "./gateway.ts";
import { type HttpAsk, httpAsk } from "./http-ask.ts";
import { countDescriptors, listChildren, readCpuSeconds, readResident } from "./processes.ts";
import { stdioAsk } from "./stdio-ask.ts";

/** A gateway that a run is about. */
export interface Subject {
  readonly name: string;
  readonly pid: number;
  /** Sends a request and resolves with its result. Rejects where there is none, or the signal takes it back. */
  ask(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
  /** Sessions, which only HTTP has, and which a client may abandon. */
  readonly visit?: HttpAsk["visit"];
  /** Counts memory and open handles after a garbage collection. */
  count(): Promise<Readonly<Record<string, number>>>;
  cpuSeconds(): number;
  /** Ends it as its users do, and resolves with its exit code. */
  end(): Promise<number | null>;
}

const gateway = fileURLToPath(new URL(`./gateway${import.meta.url.slice(-3)}`, import.meta.url));
/** Open handles of a gateway per server: input, output, errors, and on Deno the process itself. */
const PIPES = "Deno" in globalThis ? 4 : 3;
const END_MS = 60_000;

/** Starts a gateway that is served to the client that started it. */
export async function stdioSubject(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Subject> {
  const child = start(["serve", ...args], env);
  const { ask } = stdioAsk(child);
  await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "soak", version: "1" },
  });
  return {
    ...createSubject("stdio", child),
    ask,
    end: () => endChild(child, () => child.stdin?.end()),
  };
}

/** Starts a gateway that is served over HTTP. */
export async function httpSubject(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Subject> {
  const child = start(["serve", "--http", "0", ...args], env);
  const url = await new Promise<string>((resolve, reject) => {
    const lines: string[] = [];
    if (child.stderr) {
      createInterface(child.stderr).on("line", (line) => {
        lines.push(line);
        const found = /http:\/\/\S+/.exec(line)?.[0];
        if (found) resolve(found);
      });
    }
    child.once("exit", () => reject(new Error(`The gateway did not start: ${lines.join("\n")}`)));
  });
  const { ask, visit, rest } = httpAsk(url);
  const subject = createSubject("http", child);
  return {
    ...subject,
    ask,
    visit,
    async count() {
      rest();
      return subject.count();
    },
    // Deno takes a child that was sent a signal by its own method for one that died of it.
    end: () => endChild(child, () => process.kill(subject.pid, "SIGTERM")),
  };
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const onDeno = "Deno" in globalThis;
  const own = onDeno ? ["run", "-A", "--v8-flags=--expose-gc", gateway] : ["--expose-gc", gateway];
  return spawn(process.execPath, [...own, ...args], { env, stdio: ["pipe", "pipe", "pipe", "ipc"] });
}

function createSubject(
  name: string,
  child: ChildProcess,
): Pick<Subject, "name" | "pid" | "count" | "cpuSeconds"> {
  const pid = Number(child.pid);
  if (name === "stdio") child.stderr?.resume();
  return {
    name,
    pid,
    cpuSeconds: () => readCpuSeconds(pid),
    async count() {
      const descriptors = await settled(() => countDescriptors(pid) - PIPES * livingChildren(pid));
      const dead = await settled(() => listChildren(pid).filter(({ isDead }) => isDead).length);
      child.send("count");
      const [{ heap, buffers }] = (await once(child, "message")) as [Held];
      return {
        "heap, MB": heap / 1e6,
        "buffers, MB": buffers / 1e6,
        "resident memory, MB": readResident(pid) / 1e6,
        "descriptors of its own": descriptors,
        "child processes": listChildren(pid).length,
        "dead children": dead,
      };
    },
  };
}

function livingChildren(pid: number): number {
  return listChildren(pid).filter(({ isDead }) => !isDead).length;
}

/** A number that has stopped falling: sockets take a moment to close, and processes to be seen off. */
async function settled(read: () => number): Promise<number> {
  let least = read();
  for (let same = 0; same < 4; ) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    const next = read();
    same = next < least ? 0 : same + 1;
    least = Math.min(least, next);
  }
  return least;
}

async function endChild(child: ChildProcess, tell: () => void): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
  // A channel that is open would keep it from ending by itself.
  if (child.connected) child.disconnect();
  tell();
  const [code] = (await exit) as [number | null];
  clearTimeout(timer);
  return code;
}
