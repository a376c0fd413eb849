import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { StateStore } from "../../../core/services/state.ts";
import { createIdempotency } from "../../../plugins/guard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { getProcessIdentity, hasEnded, type ProcessIdentity } from "../../../plugins/lib/process-identity.ts";
import { type IdempotencyUnderTest, idempotencyContract } from "../../contracts/idempotency.ts";
import { lastingStore } from "../../support/services.ts";
import { testClock } from "./_clock.ts";

function underTest(store: StateStore, another?: StateStore): IdempotencyUnderTest {
  const clock = testClock();
  return {
    idempotency: createIdempotency(store, { clock }),
    another: another && createIdempotency(another, { clock }),
    pass: clock.pass,
    setClock: clock.setClock,
  };
}

idempotencyContract("memory", async () => underTest(memoryStore()));
idempotencyContract("two on one store", async () => {
  const store = lastingStore();
  return underTest(store, store);
});

const beginning = { key: "k", fingerprint: "f", deadlineMs: 60_000 };

/** A process that has ended, as it was. */
async function endedProcess(): Promise<ProcessIdentity> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  const pid = Number(child.pid);
  await once(child, "exit");
  return { ...getProcessIdentity(), pid, started: "1" };
}

describe("a call whose process is gone", () => {
  test("is lost before its time is up", async () => {
    const [store, clock] = [memoryStore(), testClock()];
    const owner = await endedProcess();
    expect(await createIdempotency(store, { clock, owner }).begin(beginning)).toMatchObject({
      state: "begun",
    });
    expect(await createIdempotency(store, { clock }).begin(beginning)).toEqual({ state: "unknown" });
  });

  test("is lost after the machine was started again, and by the wall clock a completed one is still replayed", async () => {
    const [store, clock] = [memoryStore(), testClock()];
    const owner = { ...getProcessIdentity(), boot: "an earlier boot" };
    const before = createIdempotency(store, { clock: { ...clock, boot: "an earlier boot" }, owner });
    await before.begin(beginning);
    const done = await before.begin({ ...beginning, key: "done" });
    if (done.state === "begun") await before.complete("done", done.fence, { result: "{}" });
    const after = createIdempotency(store, { clock: { ...clock, steady: () => 1 } });
    expect(await after.begin(beginning)).toEqual({ state: "unknown" });
    expect(await after.begin({ ...beginning, key: "done" })).toMatchObject({ state: "completed" });
    clock.setClock(86_400_000);
    expect(await after.begin({ ...beginning, key: "done" })).toMatchObject({ state: "begun" });
  });
});

describe("a process", () => {
  test("that runs is not gone, this one included", () => {
    expect(hasEnded(getProcessIdentity())).toBe(false);
    const { ppid } = process;
    expect(hasEnded({ ...getProcessIdentity(), pid: ppid, started: "" })).toBe(false);
  });

  test("that has ended is gone, and so is one whose number another has now", async () => {
    const ended = await endedProcess();
    expect(hasEnded(ended)).toBe(true);
    expect(hasEnded({ ...ended, started: "" })).toBe(true);
    if (getProcessIdentity().started !== "")
      expect(hasEnded({ ...getProcessIdentity(), started: "1" })).toBe(true);
  });

  test("of another container cannot be found out about, so it is not gone", async () => {
    expect(hasEnded({ ...(await endedProcess()), space: "pid:[1]" })).toBe(false);
  });
});

test("a record of another version counts as a call with an unknown outcome", async () => {
  const store = memoryStore();
  await store.setIfAbsent("idempotency/k", { state: "paused", of: "version 9" });
  const idempotency = createIdempotency(store, { clock: testClock() });
  expect(await idempotency.begin({ ...beginning, retrySafe: true })).toEqual({ state: "unknown" });
});
