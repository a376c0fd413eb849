import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway, type Gateway, localTools, textResult } from "../../../core/mod.ts";
import { onIdle, releaseMemory } from "../../../plugins/cli/idle.ts";

const tool = { name: "t", inputSchema: { type: "object" }, run: () => textResult("") };

/** A gateway with a clock that the test moves, and how often it has given back. */
async function resting(): Promise<{ gateway: Gateway; call: () => Promise<unknown>; times: () => number }> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let times = 0;
  const gateway = await createGateway({
    plugins: [
      localTools("s", { id: "s" }, [tool]),
      onIdle(() => void times++, { idleMs: 1_000, intervalMs: 10_000 }),
    ],
  });
  return { gateway, call: () => gateway.run({ tool: "s:t" }), times: () => times };
}

test("a gateway without calls releases no memory", async () => {
  const { gateway, times } = await resting();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(times()).toBe(0);
  await gateway.close();
});

test("once after calls, when there was none for a while", async () => {
  const { gateway, call, times } = await resting();
  for (let index = 0; index < 5; index++) {
    await call();
    await vi.advanceTimersByTimeAsync(900);
  }
  expect(times()).toBe(0);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(times()).toBe(1);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(times()).toBe(1);
  await gateway.close();
});

test("not again before some time has passed, however often there are pauses", async () => {
  const { gateway, call, times } = await resting();
  for (let index = 0; index < 4; index++) {
    await call();
    await vi.advanceTimersByTimeAsync(3_000);
  }
  expect(times()).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(times()).toBe(2);
  await gateway.close();
});

test("a gateway that was closed gives nothing back any more", async () => {
  const { gateway, call, times } = await resting();
  await call();
  await gateway.close();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(times()).toBe(0);
});

test.skipIf("Deno" in globalThis)("what is no longer used is really given back", async () => {
  const held = () => process.memoryUsage().heapUsed;
  let garbage: unknown[] | undefined = Array.from({ length: 500_000 }, (_, index) => ({ index }));
  const before = held();
  expect(garbage).toHaveLength(500_000);
  garbage = undefined;
  await releaseMemory();
  expect(held()).toBeLessThan(before - 10_000_000);
});
