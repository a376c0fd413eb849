import { expect, test } from "vitest";
import { stateLimiter } from "../../plugins/rates.ts";
import { fileStore } from "../../plugins/state/mod.ts";
import { rateLimiterContract } from "../contracts/rate-limiter.ts";
import { movable } from "../support/movable-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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
