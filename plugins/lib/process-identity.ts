import { readFileSync, readlinkSync } from "node:fs";

/** Identity by which another process can tell whether this one still runs. Fields that the system does not tell are empty. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Time of its start: a process id is used again after the process has ended. */
  readonly started: string;
  readonly boot: string;
  /** Namespace of the process id: two containers count separately. */
  readonly space: string;
}

let known: ProcessIdentity | undefined;

/** Returns the identity of this process. */
export function getProcessIdentity(): ProcessIdentity {
  known ??= {
    pid: process.pid,
    started: readStartTime(process.pid) ?? "",
    boot: bootId() ?? "",
    space: tryOr(() => readlinkSync("/proc/self/ns/pid"), ""),
  };
  return known;
}

/** Returns the identity of another process, as this one sees it. */
export function identifyProcess(pid: number): ProcessIdentity {
  return { ...getProcessIdentity(), pid, started: readStartTime(pid) ?? "" };
}

/** Names the last start of this machine, where the system tells it. */
export function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a process has certainly ended; false if that cannot be found out. */
export function hasEnded(other: ProcessIdentity, self: ProcessIdentity = getProcessIdentity()): boolean {
  if (other.boot !== self.boot) return true;
  if (other.space !== self.space) return false;
  if (other.pid === self.pid && other.started === self.started) return false;
  if (other.started !== "") return readStartTime(other.pid) !== other.started;
  return !isRunning(other.pid);
}

/** Reads the 22nd field of `/proc/<pid>/stat`; the second field may contain anything, brackets too. */
function readStartTime(pid: number): string | undefined {
  return tryOr(() => {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended, although its entry is still there.
    return fields[0] === "Z" ? undefined : fields[19];
  }, undefined);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === "EPERM";
  }
}

function tryOr<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
