import { expect, test } from "vitest";
import { faulty, isAlive } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";
import { connected } from "./_stdio.ts";

const CYCLES = 200;
const AT_ONCE = 20;

test("fault 17: 200 times connected and closed, with a grandchild that ignores the signal, leave no process behind", {
  timeout: 180_000,
}, async () => {
  const pids: number[] = [];
  let left = CYCLES;
  const cycle = async (): Promise<void> => {
    while (left-- > 0) {
      const upstream = await connected(faulty("grandchild"), { startTimeoutMs: 60_000 });
      const grandchild = (): number => Number(/grandchild (\d+)\n/.exec(upstream.health().stderr)?.[1]);
      await until(() => grandchild() > 1);
      pids.push(upstream.health().pid ?? 0, grandchild());
      await upstream.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, cycle));
  expect(pids).toHaveLength(2 * CYCLES);
  expect(pids.every((pid) => pid > 1)).toBe(true);
  expect(pids.filter(isAlive)).toEqual([]);
});
