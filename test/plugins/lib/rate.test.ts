import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { arrive, memoryLimiter } from "../../../plugins/lib/rate.ts";
import { stateLimiter } from "../../../plugins/rates.ts";
import { fileStore } from "../../../plugins/state/mod.ts";
import { rateLimiterContract } from "../../contracts/rate-limiter.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function movable(): { now: () => number; pass: (ms: number) => void } {
  let now = 1_000_000;
  return {
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
}

rateLimiterContract("memory", async () => {
  const { now, pass } = movable();
  return { limiter: memoryLimiter(now), pass };
});
rateLimiterContract("state (memory)", async () => {
  const { now, pass } = movable();
  return { limiter: stateLimiter(memoryStore(), now), pass };
});
rateLimiterContract("state (files)", async () => {
  const { now, pass } = movable();
  return { limiter: stateLimiter(fileStore(await temporaryFolder()), now), pass };
});

const bucket = { name: "b", limit: 1, perMs: 1_000, burst: 1 };

test("two limiters on one folder count together", async () => {
  const { now } = movable();
  const folder = await temporaryFolder();
  const [one, other] = [stateLimiter(fileStore(folder), now), stateLimiter(fileStore(folder), now)];
  expect((await one.take([bucket])).ok).toBe(true);
  expect(await other.take([bucket])).toEqual({ ok: false, retryAfterMs: 1_000, bucket: "b" });
});

test("a clock that is set back by a day blocks no caller", async () => {
  const { now, pass } = movable();
  const limiter = stateLimiter(memoryStore(), now);
  await limiter.take([bucket]);
  pass(-86_400_000);
  expect((await limiter.take([bucket])).ok).toBe(true);
  expect(await limiter.take([bucket])).toMatchObject({ ok: false, retryAfterMs: 1_000 });
});

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
