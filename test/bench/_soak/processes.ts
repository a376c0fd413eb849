import { readdirSync, readFileSync } from "node:fs";

/** A process that a run has started, or its gateways have. */
export interface Running {
  readonly pid: number;
  readonly parent: number;
  /** The last word of its command: what a server is called. */
  readonly name: string;
  /** It has ended, and its parent did not ask how. */
  readonly isDead: boolean;
}

/** Every process that has this word in its command. */
export function listProcesses(word: string): Running[] {
  return pids().flatMap((pid) => {
    const words = read(`/proc/${pid}/cmdline`).split("\0").filter(Boolean);
    return words.includes(word) ? readProcess(pid, words.at(-1) ?? "") : [];
  });
}

/** The processes that a process has started. A dead one has no command any more, so they are told by their parent. */
export function listChildren(parent: number): Running[] {
  return pids()
    .flatMap((pid) => readProcess(pid, ""))
    .filter((running) => running.parent === parent);
}

/** How many files, sockets and pipes a process has open. */
export function countDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The memory of a process in bytes, as the system counts it. */
export function readResident(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? Number.NaN) * 1024;
}

/** CPU seconds of a process so far. */
export function readCpuSeconds(pid: number): number {
  const fields = readFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function readProcess(pid: number, name: string): Running[] {
  const [state, parent] = readFields(pid);
  return state === undefined ? [] : [{ pid, parent: Number(parent), name, isDead: state === "Z" }];
}

/** Reads the fields after the name, which may hold any characters. */
function readFields(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text === "" ? [] : text.slice(text.lastIndexOf(") ") + 2).split(" ");
}

function pids(): number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** A process may be gone by the time it is looked at. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
