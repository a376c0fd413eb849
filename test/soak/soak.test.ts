import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { fromRoot } from "../bench/_root.ts";
import type { Report } from "../bench/_soak/report.ts";

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs it as a process of its own: the build on Node, the sources on Deno. */
async function soak(...args: readonly string[]): Promise<Finished> {
  const onDeno = "Deno" in globalThis;
  const own = onDeno ? ["run", "-A", fromRoot("test/bench/soak.ts")] : [fromRoot("build/test/bench/soak.js")];
  const child = spawn(process.execPath, [...own, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const code = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

describe.skipIf(process.platform !== "linux")("a soak", () => {
  test("of 20 seconds with 5 faults in 100 calls finds nothing that grows, leaks or stays", {
    timeout: 300_000,
  }, async () => {
    const { code, stdout, stderr } = await soak("--minutes", "0.34", "--json");
    expect(stderr).toBe("");
    const { faults, done, gateways } = JSON.parse(stdout) as Report;
    expect(faults).toEqual([]);
    expect(code).toBe(0);
    expect(gateways.map(({ name }) => name)).toEqual(["http", "stdio"]);
    const counts = Object.values(done);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(50);
    expect(Object.keys(done).filter((name) => name.includes("fault: ")).length).toBeGreaterThan(3);
  });

  test.each(["soon", "0", "-1"])("of %s minutes is refused", async (minutes) => {
    expect(await soak(`--minutes=${minutes}`)).toEqual({
      code: 2,
      stdout: "",
      stderr: "--minutes needs a number, 0.1 or more.\n",
    });
  });
});
