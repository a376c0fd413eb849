import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFoldersSync } from "../../lib/files.ts";
import { stateFolder } from "../../lib/folders.ts";
import { getProcessIdentity, identifyProcess, type ProcessIdentity } from "../../lib/process-identity.ts";

/** The servers of one gateway, as another one finds them once the first was killed. */
export interface ProcessRecord {
  readonly gateway: ProcessIdentity;
  /** Each leads a group of processes. */
  readonly servers: readonly ProcessIdentity[];
}

/** Returns the folder of the records. */
export function recordFolder(): string {
  return join(stateFolder(), "servers");
}

const servers = new Map<number, ProcessIdentity>();

/** Records the process of a server. At once: the gateway may be killed at any moment. */
export function recordServer(pid: number): void {
  const server = identifyProcess(pid);
  // Where the system does not tell when a process was started, a later one could be taken for it.
  if (server.started === "") return;
  servers.set(pid, server);
  write();
}

/** Removes a process that has ended from the record. */
export function forgetServer(pid: number): void {
  if (servers.delete(pid)) write();
}

/** Removes the record, once all servers have been ended. */
export function removeRecord(): void {
  servers.clear();
  write();
}

function write(): void {
  const gateway = getProcessIdentity();
  // Two containers may have a process of the same id and one folder.
  const file = join(recordFolder(), `${gateway.pid}-${gateway.started}.json`);
  const record: ProcessRecord = { gateway, servers: [...servers.values()] };
  try {
    if (servers.size === 0) {
      rmSync(file, { force: true });
      return;
    }
    makeFoldersSync(recordFolder());
    writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // Without a record, servers are ended all the same, unless the gateway is killed.
  }
}
