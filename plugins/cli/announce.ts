import { randomBytes } from "node:crypto";
import { rmdirSync, rmSync } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { LoadedConfig } from "../../core/mod.ts";
import { makeFolder } from "../lib/files.ts";
import { runningFolder, sweepRecords, writeRecord } from "./running.ts";

/** What came of a reload. */
export type Reloaded =
  | {
      readonly reloaded: true;
      readonly servers: number;
      readonly tools: number;
      /** Servers that have not said yet which tools they have. */
      readonly unlisted: number;
    }
  | { readonly reloaded: false; readonly reason: string };

/** What a gateway is asked for, as a line. There is nothing else it could be. */
export const RELOAD = "reload";

/** A gateway that can be found and asked to read its config anew. */
export interface Announcement {
  /** Says what it runs on from now on. */
  update(config: LoadedConfig): void;
  end(): void;
}

/** The shortest limit of any system on the path of a socket is 104 bytes, with the one that ends it. */
const LONGEST_ADDRESS = 103;

/**
 * Lets other commands of the same person find this gateway. They ask over a socket of its own: Windows has no
 * signal for it, a signal brings no answer back, and a process id may by now be somebody else's. The socket is in
 * a folder that only this person may enter; a pipe on Windows, which has no folder, has a name that nobody guesses.
 */
export async function announce(
  served: string,
  first: LoadedConfig,
  reload: () => Promise<Reloaded>,
): Promise<Announcement> {
  const folder = runningFolder();
  await makeFolder(folder);
  await chmod(folder, 0o700);
  const id = randomBytes(8).toString("hex");
  const name = `${process.pid}-${id}.json`;
  const address = await addressOf(id);
  const server = createServer((socket) => answer(socket, reload));
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
    if (!ended) writeRecord(name, { ...started, config: configFile ?? null, preset: preset.name });
  };
  // The process may end at any moment from now on.
  process.on("exit", end);
  await listen(server, address);
  update(first);
  await sweepRecords().catch(() => {});
  return { update, end };
}

async function addressOf(id: string): Promise<string> {
  if (process.platform === "win32") return `\\\\.\\pipe\\toolpipe-${id}${randomBytes(8).toString("hex")}`;
  const address = join(runningFolder(), `${id}.sock`);
  if (Buffer.byteLength(address) <= LONGEST_ADDRESS) return address;
  // A folder of its own, which is made for nobody else.
  return join(await mkdtemp(join(tmpdir(), "toolpipe-")), "sock");
}

function listen(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, () => {
      // It keeps nobody waiting who is done.
      server.unref();
      resolve();
    });
  });
}

function answer(socket: Socket, reload: () => Promise<Reloaded>): void {
  let asked = "";
  socket.setEncoding("utf8");
  socket.on("error", () => {});
  socket.on("data", (chunk: string) => {
    asked += chunk;
    if (asked === `${RELOAD}\n`) void reload().then((outcome) => socket.end(`${JSON.stringify(outcome)}\n`));
    else if (asked.length > RELOAD.length) socket.destroy();
  });
}
