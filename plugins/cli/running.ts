import { renameSync, writeFileSync } from "node:fs";
import { readFile, rm, rmdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { namesIn } from "../lib/files.ts";
import { stateFolder } from "../lib/folders.ts";

const schema = v.object({
  pid: v.number(),
  host: v.string(),
  config: v.nullable(v.string()),
  preset: v.string(),
  served: v.string(),
  startedAt: v.string(),
  address: v.string(),
});

/** A gateway that serves, as it says of itself. */
export interface Running {
  readonly pid: number;
  /** The machine it runs on: several may share one home. */
  readonly host: string;
  /** Its config file, if it has one. */
  readonly config: string | null;
  readonly preset: string;
  /** `stdio`, or the URL it is served at. */
  readonly served: string;
  readonly startedAt: string;
  /** The socket or, on Windows, the named pipe where it can be asked for something. */
  readonly address: string;
}

/** The folder of the records of what runs. */
export function runningFolder(): string {
  return join(stateFolder(), "running");
}

/** Writes a record, or another one in its place. Only its owner may read where to ask. */
export function writeRecord(name: string, running: Running): void {
  const file = join(runningFolder(), name);
  // Whoever reads at this moment must not see half of it, and nothing may be left if the process ends at this moment.
  writeFileSync(`${file}.new`, JSON.stringify(running), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The gateways that run. Records of those that were killed are taken away. */
export async function runningGateways(): Promise<Running[]> {
  const records = await readRecords();
  const found = await Promise.all(
    records.map(async ({ file, running }) => {
      if (await isListening(running.address)) return [running];
      await forget(file, running);
      return [];
    }),
  );
  return found.flat().toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

/** Takes away what killed gateways left: a client may end us so every time, and nobody may ever ask. */
export async function sweepRecords(): Promise<void> {
  for (const { file, running } of await readRecords()) {
    if (!isAlive(running.pid)) await forget(file, running);
  }
}

async function readRecords(): Promise<{ file: string; running: Running }[]> {
  const folder = runningFolder();
  const names = (await namesIn(folder)).filter((name) => name.endsWith(".json"));
  const read = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      try {
        return [{ file, running: v.parse(schema, JSON.parse(await readFile(file, "utf8"))) }];
      } catch {
        // Gone in this moment, or written by another version.
        return [];
      }
    }),
  );
  return read.flat();
}

async function forget(file: string, { host, address }: Running): Promise<void> {
  // Whether a gateway of another machine runs cannot be seen from here.
  if (host !== hostname()) return;
  await rm(file, { force: true });
  if (process.platform === "win32") return;
  await rm(address, { force: true });
  // Where the socket had a folder of its own; any other is not empty, or is none of ours.
  if (dirname(address) !== runningFolder()) await rmdir(dirname(address)).catch(() => {});
}

/** A process id may belong to another process by now, but only the gateway itself listens at its address. */
function isListening(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = connect(address);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      // Anything else, such as one that is too busy, is no proof that it is gone.
      resolve(code !== "ECONNREFUSED" && code !== "ENOENT"),
    );
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
