import { describe, expect, test } from "vitest";
import { memoryLimiter } from "../../../plugins/lib/rate.ts";
import { rates } from "../../../plugins/rates.ts";
import { keyed, openBank } from "../../plugins/guard/_guarded.ts";
import { getError } from "../../support/failure.ts";

const charge = { tool: "bank:charge", args: { amount: 5 } };

describe("rate limits", () => {
  test("a call too many is told when to come back, and its key is not used up", async () => {
    let now = 0;
    const limits = { bank_high_risk: { limit: 1, perMs: 60_000 } };
    const { gateway, effects } = await openBank({
      plugins: [rates({ limits, limiter: memoryLimiter(() => now) })],
    });
    expect((await gateway.run({ ...charge, meta: keyed("key-0001") })).ok).toBe(true);
    const second = { ...charge, meta: keyed("key-0002") };
    expect(getError(await gateway.run(second))).toMatchObject({
      code: "RATE_LIMITED",
      data: { retry_after: 60, bucket: "bank_high_risk", suggestion: expect.stringContaining("60 s") },
    });
    // A replay costs nothing.
    expect((await gateway.run({ ...charge, meta: keyed("key-0001") })).via).toBe("replay");
    // Another actor has a limit of its own.
    const ada = { id: "ada", scopes: ["*"] };
    expect((await gateway.run({ ...charge, actor: ada, meta: keyed("key-0001") })).ok).toBe(true);
    now += 60_000;
    expect((await gateway.run(second)).ok).toBe(true);
    expect(effects).toHaveLength(3);
  });

  test("are told by bucket", async () => {
    const { gateway } = await openBank({ plugins: [rates()] });
    expect(gateway.services.rates?.getLimit("payments_high_risk")).toEqual({ limit: 100, perMs: 60_000 });
    expect(gateway.services.rates?.getLimit("payments_low_risk")).toBeUndefined();
  });
});
