import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import * as v from "valibot";
import { sleep } from "../../lib/backoff.ts";
import { parseJson } from "../../lib/json.ts";
import {
  getProcessIdentity,
  hasEnded,
  identifyProcess,
  type ProcessIdentity,
} from "../../lib/process-identity.ts";
import { isGroupGone, signalGroup } from "./process-group.ts";
import { recordFolder } from "./process-record.ts";

const identity = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
  started: v.pipe(v.string(), v.nonEmpty()),
  boot: v.string(),
  space: v.string(),
});
const recordSchema = v.object({ gateway: identity, servers: v.array(identity) });

/** Time for a server to end by itself, which a signal asks it to. */
const GRACE_MS = 1_500;

/**
 * Ends the servers of gateways that were killed: a server that does not notice the end of its input would run for ever,
 * and one more with every kill. Those of running gateways stay.
 */
export async function reapOrphans(): Promise<void> {
  const folder = recordFolder();
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json"));
  await Promise.all(files.map((file) => reapRecord(join(folder, file))));
}

async function reapRecord(file: string): Promise<void> {
  const read = v.safeParse(recordSchema, parseJson(await readFile(file, "utf8")));
  if (read.success) {
    const { gateway, servers } = read.output;
    // Processes of another container have other ids here, and are not ours to end.
    if (!hasEnded(gateway)) return;
    if (gateway.boot === getProcessIdentity().boot) await Promise.all(servers.map(endServer));
  }
  await rm(file, { force: true });
}

async function endServer(server: ProcessIdentity): Promise<void> {
  const { pid } = server;
  const all = await listProcesses();
  const leader = all.find((one) => one.pid === pid);
  // No id is given to another process while it is that of a group, so another process means that the group is gone.
  if (leader && leader.started !== server.started) return;
  const members = all.filter((one) => one.group === pid && one.session === pid);
  if (members.length === 0 || members.some(({ started }) => Number(started) < Number(server.started))) return;
  const leavers = findLeavers(all, pid);
  signalGroup(pid, "SIGTERM");
  for (const one of leavers) signal(one, "SIGTERM");
  const isGone = async (): Promise<boolean> => (await isGroupGone(pid)) && leavers.every(isOver);
  for (let waitedMs = 0; waitedMs < GRACE_MS && !(await isGone()); waitedMs += 50) await sleep(50);
  if (!(await isGroupGone(pid))) signalGroup(pid, "SIGKILL");
  for (const one of leavers) signal(one, "SIGKILL");
}

function isOver({ pid, started }: LivingProcess): boolean {
  return identifyProcess(pid).started !== started;
}

function signal(target: LivingProcess, name: "SIGTERM" | "SIGKILL"): void {
  try {
    if (!isOver(target)) process.kill(target.pid, name);
  } catch {
    // It has just ended.
  }
}

interface LivingProcess {
  readonly pid: number;
  readonly started: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

async function listProcesses(): Promise<LivingProcess[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const all = names.map(async (name) => {
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    // "pid (any name) state parent group session …"
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, parent, group, session] = fields;
    if (state === undefined || /^[ZX]?$/.test(state)) return [];
    const [parentId, groupId, sessionId] = [Number(parent), Number(group), Number(session)];
    const started = String(fields[19]);
    return [{ pid: Number(name), started, parent: parentId, group: groupId, session: sessionId }];
  });
  return (await Promise.all(all)).flat();
}

/** Finds the processes that a server's group has started, and that have left the group. */
function findLeavers(all: readonly LivingProcess[], group: number): LivingProcess[] {
  const members = new Set(all.filter((one) => one.group === group).map(({ pid }) => pid));
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
  return all.filter((one) => members.has(one.pid) && one.group !== group);
}
