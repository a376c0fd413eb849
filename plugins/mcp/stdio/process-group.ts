import { spawn, spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { forgetServer, recordServer, removeRecord } from "./process-record.ts";

const windows = process.platform === "win32";
const running = new Set<number>();
let watching = false;

/** Remembers the process and all it starts, so that none of them outlives ours. */
export function trackGroup(leader: number): void {
  running.add(leader);
  recordServer(leader);
  if (watching) return;
  watching = true;
  process.on("exit", () => {
    for (const group of running) {
      // Nothing asynchronous runs any more at this point.
      if (windows) spawnSync("taskkill", ["/pid", String(group), "/T", "/F"], { windowsHide: true });
      else signalGroup(group, "SIGKILL");
    }
    removeRecord();
  });
}

/** Forgets a group that is gone. */
export function releaseGroup(leader: number): void {
  running.delete(leader);
  forgetServer(leader);
}

/** Sends a signal to the process and all it started; false if none of them is left. */
export function signalGroup(leader: number, signal: "SIGTERM" | "SIGKILL" | 0): boolean {
  if (windows) {
    if (signal === 0) return true;
    // Console programs on Windows have no gentle signal.
    spawn("taskkill", ["/pid", String(leader), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on(
      "error",
      () => {},
    );
    return true;
  }
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    // Gone, or (on macOS) nothing but processes that wait to be collected.
    return false;
  }
}

/** Whether all of a group is gone, given that its leader is. */
export async function isGroupGone(leader: number): Promise<boolean> {
  if (windows || !signalGroup(leader, 0)) return true;
  // In a container whose first process does not reap, dead processes stay and still take signals.
  const groups = process.platform === "linux" ? await livingGroups() : undefined;
  return groups !== undefined && !groups.has(leader);
}

let reading: Promise<Set<number> | undefined> | undefined;
let next: Promise<Set<number> | undefined> | undefined;

/**
 * The groups that have a living process. One reading of the process table serves all who ask meanwhile, but
 * none who asks after it began: it may be older than a group.
 */
function livingGroups(): Promise<Set<number> | undefined> {
  if (reading) {
    next ??= reading.then(() => {
      next = undefined;
      return livingGroups();
    });
    return next;
  }
  reading = readGroups().finally(() => {
    reading = undefined;
  });
  return reading;
}

async function readGroups(): Promise<Set<number> | undefined> {
  const groups = new Set<number>();
  try {
    const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(ended)));
    for (const stat of stats) {
      // "pid (any name) state parent group …"
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state !== undefined && state !== "Z" && state !== "X") groups.add(Number(group));
    }
    return groups;
  } catch {
    return undefined;
  }
}

/** Processes end while the table is read; any other failure means that we do not know. */
function ended(error: { readonly code?: unknown }): string {
  if (error.code === "ENOENT" || error.code === "ESRCH") return "";
  throw error;
}
