import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { GatewayError } from "../../../core/mod.ts";
import { SPAWN_FAILED } from "../../../core/services/servers.ts";
import { createInputQueue } from "./input-queue.ts";
import { isGroupGone, releaseGroup, signalGroup, trackGroup } from "./process-group.ts";
import { resolveWindowsCommand } from "./windows-command.ts";

/** A command and its environment. */
export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment: nothing of ours is added. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** A message must be read by the process within this time, or it is killed; 5,000 by default. */
  readonly writeDeadlineMs?: number | undefined;
}

interface ChildEvents {
  onOutput(chunk: Uint8Array): void;
  /** It takes no more messages, without a call of `close`. The reason completes "because". */
  onEnded(reason: string): void;
}

/** A child process, with all that it starts. */
export interface Child {
  readonly pid: number;
  /** Resolves when the text has left our process. */
  write(text: string): Promise<void>;
  /** Reads no output for this long: what the process writes meanwhile waits in its pipe, and then the process does. */
  pauseOutput(ms: number): void;
  /** The last 64 KB that it wrote to its error output. */
  errorOutput(): string;
  /** Why it ended by itself, also where `close` was called before that was known; completes "because". */
  endReason(): string | undefined;
  /** Asks the process to end, then makes it and all that it started; resolves when none of them lives. */
  close(): Promise<void>;
}

const windows = process.platform === "win32";
const ERROR_OUTPUT_BYTES = 65_536;
/** A program that ends with its input is not killed while it cleans up. */
const GRACE_AFTER_INPUT_MS = 500;
const GRACE_AFTER_TERM_MS = 1_500;
/** The rest of a group whose leader is gone has nothing to clean up. */
const GRACE_WITHOUT_LEADER_MS = 250;
const GRACE_AFTER_KILL_MS = 2_000;
/** An exit and the end of the output come in any order; together they say more. What is still unread comes first. */
const LAST_WORDS_MS = 100;

/** Starts a process, without a shell, as the leader of a group of its own. */
export async function startChild(command: ChildCommand, events: ChildEvents): Promise<Child> {
  const { process: child, pid } = await spawnChild(command);
  trackGroup(pid);
  const errorOutput = createTailBuffer(ERROR_OUTPUT_BYTES);
  let exited = false;
  let exitedAt = 0;
  let exit = "";
  let outputEnded = false;
  let firstReason: string | undefined;
  let signalled = false;
  let over = false;
  let pauseTimer: ReturnType<typeof setTimeout> | undefined;
  let lastWords: ReturnType<typeof setTimeout> | undefined;
  let closing: Promise<void> | undefined;
  let onExit: (() => void) | undefined;

  const input = createInputQueue(child.stdin, command.writeDeadlineMs ?? 5_000, (reason) => endSoon(reason));
  child.stdout?.on("data", (chunk: Uint8Array) => {
    if (!over) events.onOutput(chunk);
  });
  child.stdout?.on("end", () => {
    outputEnded = true;
    endSoon("its process closed its output");
  });
  child.stdout?.on("error", () => endSoon("its output could not be read"));
  child.stderr?.on("data", (chunk: Uint8Array) => errorOutput.push(chunk));
  child.stderr?.on("error", () => {});
  child.on("error", () => {});
  child.on("exit", (code, signal) => {
    exited = true;
    exitedAt = performance.now();
    exit = signal ? `its process was ended by ${signal}` : `its process ended with exit code ${code}`;
    onExit?.();
    endSoon(exit);
  });

  return {
    pid,
    write: (text) => input.write(text),
    pauseOutput(ms) {
      if (pauseTimer || !child.stdout) return;
      child.stdout.pause();
      pauseTimer = setTimeout(() => {
        pauseTimer = undefined;
        child.stdout?.resume();
      }, ms);
    },
    errorOutput: () => errorOutput.text(),
    // An exit that we caused is no reason.
    endReason: () => (exit !== "" && !signalled ? exit : firstReason),
    close() {
      over = true;
      clearTimeout(pauseTimer);
      closing ??= shutDown();
      return closing;
    },
  };

  /** Waits a moment for the exit code, or for what the process wrote last. */
  function endSoon(reason: string): void {
    firstReason ??= reason;
    if (over) return;
    const finish = (): void => {
      clearTimeout(lastWords);
      if (over) return;
      over = true;
      closing ??= shutDown();
      events.onEnded(exit || reason);
    };
    if (exited && outputEnded) finish();
    else lastWords ??= setTimeout(() => setImmediate(finish), LAST_WORDS_MS);
  }

  async function shutDown(): Promise<void> {
    input.end();
    if (!(await waitUntilGone(GRACE_AFTER_INPUT_MS, GRACE_WITHOUT_LEADER_MS))) {
      signalled = true;
      signalGroup(pid, "SIGTERM");
      if (!(await waitUntilGone(GRACE_AFTER_TERM_MS, GRACE_WITHOUT_LEADER_MS))) {
        signalGroup(pid, "SIGKILL");
        await waitUntilGone(GRACE_AFTER_KILL_MS);
      }
    }
    releaseGroup(pid);
    // A process that left the group may still hold the other ends.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    child.unref();
  }

  async function waitUntilGone(ms: number, withoutLeaderMs: number = ms): Promise<boolean> {
    const start = performance.now();
    for (let pause = 5; ; pause = Math.min(pause * 2, 50)) {
      if (exited && (await isGroupGone(pid))) return true;
      const end = exited ? Math.min(start + ms, Math.max(start, exitedAt) + withoutLeaderMs) : start + ms;
      const left = end - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, exited ? Math.min(pause, left) : left);
        onExit = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

function spawnChild(given: ChildCommand): Promise<{ process: ChildProcess; pid: number }> {
  const { command, env, cwd } = given;
  return new Promise((resolve, reject) => {
    try {
      const { file, args, verbatim } = windows
        ? resolveWindowsCommand(command, given.args, env)
        : { file: command, args: given.args, verbatim: false };
      const child = spawn(file, [...args], {
        env: { ...env },
        stdio: ["pipe", "pipe", "pipe"],
        shell: false,
        detached: !windows,
        windowsHide: true,
        windowsVerbatimArguments: verbatim,
        ...(cwd === undefined ? {} : { cwd }),
      });
      child.once("error", (error) => reject(spawnFailed(given, error)));
      child.once("spawn", () => resolve({ process: child, pid: child.pid as number }));
      // Where no more files can be opened, the pipes fail too.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});
    } catch (thrown) {
      reject(GatewayError.is(thrown) ? thrown : spawnFailed(given, thrown));
    }
  });
}

function spawnFailed({ command, cwd }: ChildCommand, cause: unknown): GatewayError {
  const { code } = cause as { code?: unknown };
  const reasons: Record<string, string> = {
    ENOENT: "it was not found",
    EACCES: "it may not be run",
    EPERM: "it may not be run",
    EMFILE: "too many files are open",
    ENFILE: "too many files are open",
    EAGAIN: "there are too many processes",
    ENOMEM: "there is not enough memory",
  };
  let reason = reasons[String(code)] ?? "the system refused it";
  // The code is the same for a missing command and a missing folder.
  if (code === "ENOENT" && cwd !== undefined && !existsSync(cwd))
    reason = "its working folder does not exist";
  else if (code === "ENOENT" && /\s/.test(command)) reason += '; arguments belong in "args"';
  const message = `The command "${toProgramName(command)}" could not be started: ${reason}.`;
  return new GatewayError(SPAWN_FAILED, message, { cause });
}

/** Returns the name of the program alone: arguments within the command may hold a secret. */
function toProgramName(command: string): string {
  const [program = ""] = command.trim().split(/\s+-|\s+(?=\S*=)/);
  return (program.split(/[\\/]/).at(-1) ?? "").slice(0, 100);
}

/** Creates a buffer that keeps the last `size` bytes. */
function createTailBuffer(size: number): { push(chunk: Uint8Array): void; text(): string } {
  let ring: Uint8Array | undefined;
  let written = 0;
  return {
    push(chunk) {
      // Made on first use: most servers write nothing there.
      ring ??= new Uint8Array(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      const start = (written + chunk.length - kept.length) % size;
      const untilEdge = Math.min(kept.length, size - start);
      ring.set(kept.subarray(0, untilEdge), start);
      ring.set(kept.subarray(untilEdge), 0);
      written += chunk.length;
    },
    text() {
      if (!ring) return "";
      const edge = written % size;
      const decoder = new TextDecoder();
      if (written <= size) return decoder.decode(ring.subarray(0, written));
      return decoder.decode(ring.subarray(edge), { stream: true }) + decoder.decode(ring.subarray(0, edge));
    },
  };
}
