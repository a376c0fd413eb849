import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hasRedis } from "../support/redis.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { torture } from "./torture.ts";

/** `npm run torture` kills a thousand. */
const KILLS = 16;
const none = { duplicates: 0, lostEffects: 0, lostRecords: 0, brokenFiles: 0, oddAnswers: [] };

describe("processes that are killed at any moment", { timeout: 240_000 }, () => {
  test("run nothing twice and lose no confirmed call, with their state in files", async () => {
    const folder = join(await temporaryFolder(), "trials");
    const found = await torture({ store: "file", trials: KILLS, folder });
    expect(found).toMatchObject(none);
    expect(found.answered).toBeGreaterThan(KILLS);
  });

  test.skipIf(!hasRedis)(
    "run nothing twice and lose no confirmed call, with their state in a Redis that is killed too (needs Redis)",
    async () => {
      const folder = join(await temporaryFolder(), "trials");
      const found = await torture({ store: "redis", trials: KILLS, folder, killRedisEvery: 4 });
      expect(found).toMatchObject(none);
      expect(found.answered).toBeGreaterThan(KILLS);
    },
  );
});
