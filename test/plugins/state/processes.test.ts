import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, test } from "vitest";
import { fileStore } from "../../../plugins/state/mod.ts";
import { removeFolder, temporaryFolder } from "../../support/temporary-folder.ts";
import { workerCommand } from "./_worker.ts";

interface Worker {
  readonly child: ChildProcess;
  /** The lines it has printed so far. */
  readonly said: string[];
  /** Resolves once it has said this many lines. */
  lines(count: number): Promise<void>;
  /** Resolves once it has ended and everything it said has been heard. */
  readonly ended: Promise<void>;
}

let cache = "";

function start(folder: string, act: string, number?: number): Worker {
  const [command, ...args] = workerCommand(folder, act, number);
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, WORKER_CACHE: cache },
  });
  const said: string[] = [];
  let heard = (): void => {};
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    said.push(line);
    heard();
  });
  const ended = Promise.all([once(child, "close"), once(reader, "close")]).then(() => heard());
  return {
    child,
    said,
    ended,
    lines: (count) =>
      new Promise((resolve, reject) => {
        heard = () => {
          if (said.length >= count) resolve();
          else if (child.exitCode !== null || child.signalCode !== null)
            reject(new Error("The worker ended early."));
        };
        heard();
      }),
  };
}

/** Starts workers, lets them begin at the same moment, and waits until all have ended. */
async function together(count: number, folder: string, act: string, number: number): Promise<Worker[]> {
  const workers = Array.from({ length: count }, () => start(folder, act, number));
  await Promise.all(workers.map((worker) => worker.lines(1)));
  for (const { child } of workers) child.stdin?.write("go\n");
  await Promise.all(workers.map((worker) => worker.ended));
  return workers;
}

// Kept for the whole file, so that the sources are read once and not by each of many processes.
beforeAll(async () => {
  cache = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-worker-"));
  await start(cache, "none").ended;
  return () => removeFolder(cache);
});

describe("several processes on one folder", () => {
  test("of eight that set a key at the same time, exactly one does", { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder();
    const workers = await together(8, folder, "race", 10);
    const winners = new Map<number, number | undefined>();
    for (const { child, said } of workers) {
      for (const key of JSON.parse(String(said[1])) as number[]) {
        expect(winners.has(key)).toBe(false);
        winners.set(key, child.pid);
      }
    }
    expect(winners.size).toBe(10);
    const store = fileStore(folder);
    for (const [key, pid] of winners) expect((await store.get(`race/${key}`))?.value).toEqual({ by: pid });
  });

  test("lose no update", { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder();
    await together(4, folder, "count", 25);
    expect((await fileStore(folder).get("count/n"))?.value).toMatchObject({ n: 100, same: 100 });
  });
});

test("a key that comes and goes is held by one process at a time", { timeout: 60_000 }, async () => {
  const folder = await temporaryFolder({ number: "0" });
  const workers = await together(4, folder, "hold", 15);
  for (const { said } of workers) expect(said).toEqual(["ready", "done"]);
  expect(await readFile(join(folder, "number"), "utf8")).toBe("60");
  expect(await fileStore(folder).list("hold/")).toEqual([]);
});

describe("a process that is killed", () => {
  test("leaves no half state, loses nothing it was told is done, and blocks no process", {
    timeout: 120_000,
  }, async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    const workers: Worker[] = [];
    const killOne = async (): Promise<void> => {
      const worker = start(folder, "churn");
      workers.push(worker);
      await worker.lines(2);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      worker.child.kill("SIGKILL");
      await worker.ended;
      // A reader in between: what it finds is whole.
      for (const { value } of await store.list("")) {
        if ("n" in value)
          expect(value).toEqual({ n: value["n"], same: value["n"], text: String(value["n"]).repeat(2_000) });
      }
    };
    const lane = async (kills: number): Promise<void> => {
      for (let kill = 0; kill < kills; kill++) await killOne();
    };
    await Promise.all([lane(13), lane(13), lane(12), lane(12)]);

    for (const { child, said } of workers) {
      const done = said.filter((line) => line.startsWith("own ")).length;
      const n = Number((await store.get(`own/${child.pid}`))?.value["n"]);
      // One more write may have succeeded without being reported.
      expect([done, done + 1]).toContain(n);
    }
    const all = workers.flatMap(({ said }) => said).filter((line) => line === "all").length;
    const n = Number((await store.get("all/n"))?.value["n"]);
    expect(n).toBeGreaterThanOrEqual(all);
    expect(n).toBeLessThanOrEqual(all + workers.length);

    expect(await store.replace("all/lock", { by: "me" })).toBe(true);
    expect(await store.delete("all/lock")).toBe(true);
    for (const group of ["own", "all"]) {
      expect(await readdir(join(folder, group)).then((names) => names.includes("aside"))).toBe(false);
    }
    // A fresh store sweeps: what is left are the keys, a value each, and at most what the killed ones had just begun.
    await fileStore(folder).list("");
    const values = await readdir(join(folder, "own", "values"));
    expect(values.length).toBeLessThanOrEqual(workers.length * 2);
  });
});
