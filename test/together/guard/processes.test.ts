import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { machineClock } from "../../../plugins/guard/clock.ts";
import { createIdempotency } from "../../../plugins/guard/mod.ts";
import { fileStore } from "../../../plugins/state/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const built = fileURLToPath(new URL("../../../dist/plugins/guard/mod.js", import.meta.url));
const file = fileURLToPath(new URL("./_worker.mjs", import.meta.url));

/** Starts a process that charges, kills it a moment after it has begun, and returns what it said. */
async function killed(folder: string, round: string): Promise<string[]> {
  const onDeno = "Deno" in globalThis;
  const run = onDeno ? ["run", "-A"] : [];
  if (!onDeno && !existsSync(built)) throw new Error(`${built} is not there: run "npm run build" first.`);
  const child = spawn(process.execPath, [...run, file, folder, round], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const said: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const ended = Promise.all([once(child, "close"), once(reader, "close")]);
  reader.on("line", (line) => {
    if (line === "ready") setTimeout(() => child.kill("SIGKILL"), Math.random() * 150);
    else said.push(line);
  });
  await ended;
  return said;
}

test("fault 40: of processes that are killed in the middle of calls, none ever has an effect twice, or forgets one", {
  timeout: 180_000,
}, async () => {
  const folder = await temporaryFolder({ ledger: "" });
  const said: string[] = [];
  const lane = async (): Promise<void> => {
    for (let round = 1; round <= 25; round++) said.push(...(await killed(folder, String(round))));
  };
  await Promise.all([lane(), lane()]);

  const effects = new Map<string, number>();
  for (const key of (await readFile(join(folder, "ledger"), "utf8")).split("\n").filter(Boolean)) {
    effects.set(key, (effects.get(key) ?? 0) + 1);
  }
  expect(Math.max(...effects.values())).toBe(1);
  // A caller was told that it was done, and it was.
  for (const line of said) {
    const [key = "", outcome = ""] = line.split(" ");
    if (outcome === "ok") expect(effects.get(key)).toBe(1);
    expect(["ok", "IN_PROGRESS", "OUTCOME_UNKNOWN"]).toContain(outcome);
  }

  // All processes are gone: whatever has no end is unknown now, and there is no effect without a trace of it.
  const store = fileStore(join(folder, "state"));
  const idempotency = createIdempotency(store, { clock: machineClock() });
  const states: string[] = [];
  for (const { key, value } of await store.list("idempotency/")) {
    const { state } = await idempotency.begin({
      key: key.slice("idempotency/".length),
      fingerprint: String(value["fingerprint"]),
      deadlineMs: 600_000,
    });
    states.push(state);
  }
  const completed = states.filter((state) => state === "completed").length;
  const unknown = states.filter((state) => state === "unknown").length;
  expect(completed + unknown).toBe(states.length);
  expect(effects.size).toBeGreaterThanOrEqual(completed);
  expect(effects.size).toBeLessThanOrEqual(states.length);
  // Otherwise nothing was interrupted, and this would show nothing.
  expect(unknown).toBeGreaterThan(0);
});
