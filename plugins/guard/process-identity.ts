import { readFileSync, readlinkSync } from "node:fs";
import { bootId } from "../lib/clock.ts";

/** A process, so that another one can tell whether it is still there. Where the system does not tell, a field is empty. */
export interface Owner {
  readonly pid: number;
  /** When it was started: the number of a process is given to another one after its end. */
  readonly started: string;
  readonly boot: string;
  /** The space its number belongs to: two containers count apart. */
  readonly space: string;
}

let known: Owner | undefined;

/** This process. */
export function thisProcess(): Owner {
  known ??= {
    pid: process.pid,
    started: startOf(process.pid) ?? "",
    boot: bootId() ?? "",
    space: tryOr(() => readlinkSync("/proc/self/ns/pid"), ""),
  };
  return known;
}

/** Whether a process is certainly gone. Where that cannot be found out, it is not. */
export function isGone(owner: Owner, self: Owner = thisProcess()): boolean {
  if (owner.boot !== self.boot) return true;
  if (owner.space !== self.space) return false;
  if (owner.pid === self.pid && owner.started === self.started) return false;
  if (owner.started !== "") return startOf(owner.pid) !== owner.started;
  return !isRunning(owner.pid);
}

/** The 22nd field of what Linux says of a process; the second one may hold anything, brackets too. */
function startOf(pid: number): string | undefined {
  return tryOr(() => {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // A process that has ended but was not collected does nothing any more.
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
