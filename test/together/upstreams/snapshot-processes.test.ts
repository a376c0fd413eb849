import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createCache, fileStorage } from "../../../plugins/cache/mod.ts";
import { type CachedListing, createSnapshot } from "../../../plugins/upstreams/snapshot.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const file = fileURLToPath(new URL("./_snapshot-writer.mjs", import.meta.url));

/** Starts a process that writes the snapshot again and again; resolves once it has done so. */
async function writer(folder: string): Promise<ChildProcess> {
  const run = "Deno" in globalThis ? ["run", "-A", "--no-lock"] : [];
  const child = spawn(process.execPath, [...run, file, folder], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  child.stdout.resume();
  return child;
}

/** Loads the listings as a gateway that starts now. */
async function look(folder: string): Promise<CachedListing | undefined> {
  const troubled = (cause: unknown): never => {
    throw cause;
  };
  const cache = createCache({ storage: fileStorage(folder), onTrouble: troubled });
  return (await createSnapshot(cache, "shared").load()).get("server");
}

/** The process whose text this is, which must be all of one piece. */
function findAuthor(found: CachedListing | undefined): number {
  const description = found?.listing.tools[0]?.description ?? "";
  const [pid = "", round] = description.split(" ");
  expect(found?.info.name).toBe(round);
  expect(description.replaceAll(`${pid} ${round} `, "")).toBe("");
  return Number(pid);
}

test("fault 55: of processes that write one snapshot, readers see each whole, also when one is killed", async () => {
  const folder = await temporaryFolder();
  const writers = await Promise.all([writer(folder), writer(folder)]);
  const seen = new Set<number>();
  for (let reads = 0; reads < 150 || seen.size < 2; reads++) seen.add(findAuthor(await look(folder)));
  expect(seen).toEqual(new Set(writers.map(({ pid }) => pid)));

  const [doomed, survivor] = writers as [ChildProcess, ChildProcess];
  doomed.kill("SIGKILL");
  await once(doomed, "exit");
  while (findAuthor(await look(folder)) !== survivor.pid);
  for (let reads = 0; reads < 50; reads++) expect(findAuthor(await look(folder))).toBe(survivor.pid);

  survivor.kill("SIGKILL");
  await once(survivor, "exit");
  expect(findAuthor(await look(folder))).toBe(survivor.pid);
  const names = await readdir(folder);
  expect(names.filter((name) => !name.endsWith(".draft"))).toHaveLength(1);
});
