import { expect, test } from "vitest";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { stateLimiter } from "../../plugins/rates.ts";
import { rateLimiterContract } from "../contracts/rate-limiter.ts";
import { movable } from "../support/movable-clock.ts";

rateLimiterContract("state (memory)", async () => {
  const { now, pass } = movable();
  return { limiter: stateLimiter(memoryStore(), now), pass };
});

const bucket = { name: "b", limit: 1, perMs: 1_000, burst: 1 };

test("a clock that is set back by a day blocks no caller", async () => {
  const { now, pass } = movable();
  const limiter = stateLimiter(memoryStore(), now);
  await limiter.take([bucket]);
  pass(-86_400_000);
  expect((await limiter.take([bucket])).ok).toBe(true);
  expect(await limiter.take([bucket])).toMatchObject({ ok: false, retryAfterMs: 1_000 });
});
