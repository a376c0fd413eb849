import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether this machine has a Redis to start. */
export const hasRedis: boolean = spawnSync("redis-server", ["--version"]).status === 0;

/** A Redis of a test's own. */
export interface TestRedis {
  readonly url: string;
  readonly port: number;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts a Redis that says that it takes snapshots, and has no time to: nothing outlives it unless it is told to. */
export async function startRedis(...settings: readonly string[]): Promise<TestRedis> {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    // One of its own: a replica keeps what it copied, and the next Redis would begin with that.
    const folder = mkdtempSync(join(tmpdir(), "toolpipe-redis-"));
    const child = spawn(
      "redis-server",
      [
        "--port",
        String(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "86400 1000000",
        "--appendonly",
        "no",
        "--dir",
        folder,
        ...settings,
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve())).then(() =>
      rmSync(folder, { recursive: true, force: true }),
    );
    if (await isReady(child, ended)) {
      return {
        url: `redis://127.0.0.1:${port}`,
        port,
        process: child,
        async stop() {
          child.kill("SIGKILL");
          await ended;
        },
      };
    }
    // Another process may have taken the port meanwhile.
    if (tries === 5) throw new Error("Redis did not start.");
  }
}

function isReady(child: ChildProcess, ended: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.includes("Ready to accept connections")) resolve(true);
    });
    void ended.then(() => resolve(false));
  });
}

/** A port on which nothing listens. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
