import { randomBytes } from "node:crypto";
import { renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, rmdir } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import * as v from "valibot";
import type { LoadedConfig } from "../../core/mod.ts";
import { listFolder, makeFolder } from "../lib/files.ts";
import { stateFolder } from "../lib/folders.ts";
import { answerRequest, type GatewayRequests } from "./gateway-requests.ts";

const schema = v.object({
  pid: v.number(),
  /** The machine: several may share one home folder. */
  host: v.string(),
  config: v.nullable(v.string()),
  preset: v.string(),
  /** `stdio`, or the URL it is served at. */
  served: v.string(),
  startedAt: v.string(),
  /** The socket or, on Windows, the named pipe that takes requests. */
  address: v.string(),
});

/** A running gateway, as its record describes it. */
export type RunningGateway = Readonly<v.InferOutput<typeof schema>>;

/** Returns the folder of the records. */
function runningFolder(): string {
  return join(stateFolder(), "running");
}

/** Writes or replaces a record, readable by its user only. */
function writeGatewayRecord(name: string, running: RunningGateway): void {
  const file = join(runningFolder(), name);
  // Synchronously and by a rename: no reader sees a half-written file, and the process may end at any moment.
  writeFileSync(`${file}.new`, JSON.stringify(running), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Lists the running gateways, and removes the records of killed ones. */
export async function listRunningGateways(): Promise<RunningGateway[]> {
  const records = await readRecords();
  const found = await Promise.all(
    records.map(async ({ file, running }) => {
      if (await isListening(running.address)) return [running];
      await removeRecord(file, running);
      return [];
    }),
  );
  return found.flat().toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

/** Removes the records of killed gateways: a client may kill every gateway it starts. */
async function removeStaleRecords(): Promise<void> {
  for (const { file, running } of await readRecords()) {
    if (!isAlive(running.pid)) await removeRecord(file, running);
  }
}

async function readRecords(): Promise<{ file: string; running: RunningGateway }[]> {
  const folder = runningFolder();
  const names = (await listFolder(folder)).filter((name) => name.endsWith(".json"));
  const read = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      try {
        return [{ file, running: v.parse(schema, JSON.parse(await readFile(file, "utf8"))) }];
      } catch {
        // The record was just removed, or written by another version.
        return [];
      }
    }),
  );
  return read.flat();
}

async function removeRecord(file: string, { host, address }: RunningGateway): Promise<void> {
  // A gateway of another machine cannot be checked from here.
  if (host !== hostname()) return;
  await rm(file, { force: true });
  if (process.platform === "win32") return;
  await rm(address, { force: true });
  // A folder that was made for the socket alone; rmdir fails for any other, which is not empty.
  if (dirname(address) !== runningFolder()) await rmdir(dirname(address)).catch(() => {});
}

/** Connects to the address of a gateway. Its process id may belong to another process by now. */
function isListening(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = connect(address);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) =>
      // Any other error, such as a full backlog, does not prove that the gateway has ended.
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

/** Record of this gateway, by which other commands find it. */
export interface Announcement {
  update(config: LoadedConfig): void;
  end(): void;
}

/** The shortest limit of any system for the path of a socket is 104 bytes, with its terminating zero. */
const MAX_ADDRESS_BYTES = 103;

/**
 * Lets other commands of the same user find this gateway, and ask it for a reload or its state over a socket. A signal would bring no
 * answer back, does not exist on Windows, and may reach another process that has got the process id. Only this user can
 * enter the folder of the socket; a named pipe on Windows has a random name instead.
 */
export async function announce(
  served: string,
  first: LoadedConfig,
  requests: GatewayRequests,
): Promise<Announcement> {
  const folder = runningFolder();
  await makeFolder(folder);
  await chmod(folder, 0o700);
  const id = randomBytes(8).toString("hex");
  const name = `${process.pid}-${id}.json`;
  const address = await createAddress(id);
  const server = createServer((socket) => answerRequest(socket, requests));
  const started = {
    pid: process.pid,
    host: hostname(),
    served,
    startedAt: new Date().toISOString(),
    address,
  };
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    process.off("exit", end);
    server.close();
    rmSync(join(folder, name), { force: true });
    if (process.platform === "win32") return;
    rmSync(address, { force: true });
    if (dirname(address) !== folder) rmdirSync(dirname(address));
  };
  const update = ({ configFile, preset }: LoadedConfig): void => {
    if (!ended) writeGatewayRecord(name, { ...started, config: configFile ?? null, preset: preset.name });
  };
  process.on("exit", end);
  await listen(server, address);
  update(first);
  await removeStaleRecords().catch(() => {});
  return { update, end };
}

async function createAddress(id: string): Promise<string> {
  if (process.platform === "win32") return `\\\\.\\pipe\\toolpipe-${id}${randomBytes(8).toString("hex")}`;
  const address = join(runningFolder(), `${id}.sock`);
  if (Buffer.byteLength(address) <= MAX_ADDRESS_BYTES) return address;
  // mkdtemp makes a folder that only this user can enter.
  return join(await mkdtemp(join(tmpdir(), "toolpipe-")), "sock");
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      server.unref();
      resolve();
    });
  });
}
