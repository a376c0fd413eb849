import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RateBucket, RateLimiter } from "../../plugins/lib/rate.ts";

/** A limiter under test, with a clock that the test moves. */
export interface LimiterUnderTest {
  readonly limiter: RateLimiter;
  pass(ms: number): void;
}

const bucket = (name: string, rest: Partial<RateBucket> = {}): RateBucket => ({
  name,
  limit: 10,
  perMs: 1_000,
  ...rest,
});

/** The contract of every rate limiter. `make` returns a new, empty one. */
export function rateLimiterContract(name: string, make: () => Promise<LimiterUnderTest>): void {
  describe(`the ${name} rate limiter`, () => {
    test("lets a burst through, then returns the time to wait", async () => {
      const { limiter, pass } = await make();
      const one = [bucket("b", { burst: 3 })];
      for (let count = 0; count < 3; count++) expect((await limiter.take(one)).ok).toBe(true);
      expect(await limiter.take(one)).toEqual({ ok: false, retryAfterMs: 100, bucket: "b" });
      pass(99);
      expect(await limiter.take(one)).toEqual({ ok: false, retryAfterMs: 1, bucket: "b" });
      pass(1);
      expect(await limiter.take(one)).toEqual({ ok: true, retryAfterMs: 0 });
      expect((await limiter.take(one)).ok).toBe(false);
    });

    test("a refusal takes nothing, from no bucket", async () => {
      const { limiter } = await make();
      const [wide, narrow] = [bucket("wide", { burst: 2 }), bucket("narrow", { burst: 1 })];
      expect((await limiter.take([wide, narrow])).ok).toBe(true);
      for (let count = 0; count < 5; count++) {
        expect(await limiter.take([wide, narrow])).toMatchObject({ ok: false, bucket: "narrow" });
      }
      expect((await limiter.take([wide])).ok).toBe(true);
      expect((await limiter.take([wide])).ok).toBe(false);
    });

    test("names the bucket that has to be waited for longest", async () => {
      const { limiter } = await make();
      const both = [bucket("fast", { burst: 1 }), bucket("slow", { limit: 1, burst: 1 })];
      await limiter.take(both);
      expect(await limiter.take(both)).toEqual({ ok: false, retryAfterMs: 1_000, bucket: "slow" });
    });

    test("a call may cost more than one", async () => {
      const { limiter } = await make();
      expect((await limiter.take([bucket("b")], 8)).ok).toBe(true);
      expect(await limiter.take([bucket("b")], 4)).toMatchObject({ ok: false, retryAfterMs: 200 });
      expect((await limiter.take([bucket("b")], 2)).ok).toBe(true);
    });

    test("many at the same time get no more than there is", async () => {
      const { limiter } = await make();
      const taken = await Promise.all(
        Array.from({ length: 25 }, () => limiter.take([bucket("b", { burst: 5 })])),
      );
      expect(taken.filter(({ ok }) => ok)).toHaveLength(5);
    });

    test("in no stretch of time more comes through than a burst and what the time allows", async () => {
      const steps = fc.array(
        fc.record({ wait: fc.nat({ max: 400 }), cost: fc.integer({ min: 1, max: 3 }) }),
        {
          maxLength: 30,
        },
      );
      await fc.assert(
        fc.asyncProperty(steps, async (given) => {
          const { limiter, pass } = await make();
          const own = bucket("b", { burst: 4 });
          const passed: { at: number; cost: number }[] = [];
          let at = 0;
          for (const { wait, cost } of given) {
            at += wait;
            pass(wait);
            if ((await limiter.take([own], cost)).ok) passed.push({ at, cost });
          }
          for (const [index, first] of passed.entries()) {
            let sum = 0;
            for (const { at: when, cost } of passed.slice(index)) {
              sum += cost;
              expect(sum).toBeLessThanOrEqual(4 + (when - first.at) / 100 + 1e-6);
            }
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}
