import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { countDescriptors, listChildren, listProcesses, readResident } from "../bench/_soak/processes.ts";

describe.skipIf(process.platform !== "linux")("what a soak counts of a process", () => {
  test("finds what bears a word until it has ended, and whose child it is", async () => {
    const word = randomUUID();
    const child = spawn("sh", ["-c", "sleep 600", word, "north"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    const expected = expect.objectContaining({
      pid: child.pid,
      parent: process.pid,
      name: "north",
      isDead: false,
    });
    await expect.poll(() => listProcesses(word), { timeout: 10_000 }).toContainEqual(expected);
    expect(listChildren(process.pid).map(({ pid }) => pid)).toContain(child.pid);
    child.kill("SIGKILL");
    await expect.poll(() => listProcesses(word), { timeout: 10_000 }).toEqual([]);
  });

  test("is one more descriptor for each file that is left open", () => {
    const before = countDescriptors(process.pid);
    const open = Array.from({ length: 20 }, () => openSync("/dev/null", "r"));
    expect(countDescriptors(process.pid) - before).toBeGreaterThanOrEqual(20);
    for (const file of open) closeSync(file);
  });

  test("is its memory, and none of one that is gone", () => {
    expect(readResident(process.pid)).toBeGreaterThan(10_000_000);
    expect(readResident(2 ** 30)).toBeNaN();
  });
});
