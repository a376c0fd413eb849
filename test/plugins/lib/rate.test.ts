import fc from "fast-check";
import { expect, test } from "vitest";
import { arrive, memoryLimiter } from "../../../plugins/lib/rate.ts";
import { rateLimiterContract } from "../../contracts/rate-limiter.ts";
import { movable } from "../../support/movable-clock.ts";

rateLimiterContract("memory", async () => {
  const { now, pass } = movable();
  return { limiter: memoryLimiter(now), pass };
});

const bucket = { name: "b", limit: 1, perMs: 1_000, burst: 1 };

test("names that are free again are forgotten", async () => {
  const { now, pass } = movable();
  const limiter = memoryLimiter(now);
  for (let count = 0; count < 10_000; count++) await limiter.take([{ ...bucket, name: `n${count}` }]);
  pass(2_000);
  expect((await limiter.take([{ ...bucket, name: "one more" }])).ok).toBe(true);
  expect((await limiter.take([{ ...bucket, name: "n0" }])).ok).toBe(true);
});

test("an unused bucket has room for a whole burst at any time", () => {
  const time = fc.integer({ min: 0, max: 1e9 }).map((micros) => micros / 1000);
  fc.assert(
    fc.property(
      time,
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 1e6 }),
      (now, limit, perMs) => {
        expect(arrive(undefined, now, { limit, perMs }, limit).waitMs).toBe(0);
      },
    ),
  );
});
