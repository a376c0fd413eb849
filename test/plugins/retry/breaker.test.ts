import fc from "fast-check";
import { expect, test } from "vitest";
import { createBreaker, createRetryBudget } from "../../../plugins/retry/breaker.ts";

function movable(): { now: () => number; pass: (ms: number) => void } {
  let now = 0;
  return {
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
}

const limits = { failures: 5, openMs: 30_000 };

test("five failures in a row open it for 30 seconds, and one probe that goes well closes it", () => {
  const { now, pass } = movable();
  const breaker = createBreaker(limits, now);
  for (let count = 0; count < 5; count++) {
    expect(breaker.enter()).toBe(0);
    breaker.fail();
  }
  expect(breaker.enter()).toBe(30_000);
  pass(29_999);
  expect(breaker.enter()).toBe(1);
  pass(1);
  expect(breaker.enter()).toBe(0);
  // The probe is pending: no other call is let through.
  expect(breaker.enter()).toBeGreaterThan(0);
  breaker.succeed();
  expect(breaker.enter()).toBe(0);
  expect(breaker.enter()).toBe(0);
});

test("a probe that fails opens it again at once", () => {
  const { now, pass } = movable();
  const breaker = createBreaker(limits, now);
  for (let count = 0; count < 5; count++) breaker.fail();
  pass(30_000);
  expect(breaker.enter()).toBe(0);
  breaker.fail();
  expect(breaker.enter()).toBe(30_000);
});

test("a cancelled probe lets the next one try", () => {
  const { now, pass } = movable();
  const breaker = createBreaker(limits, now);
  for (let count = 0; count < 5; count++) breaker.fail();
  pass(30_000);
  breaker.enter();
  breaker.leave();
  expect(breaker.enter()).toBe(0);
});

test("simultaneous failures count as one, and calls that began later count separately", () => {
  const breaker = createBreaker(limits, () => 0);
  const since = breaker.counted;
  for (let count = 0; count < 20; count++) breaker.fail(since);
  for (let count = 0; count < 4; count++) {
    expect(breaker.enter()).toBe(0);
    breaker.fail(breaker.counted);
  }
  expect(breaker.enter()).toBe(30_000);
});

test("an answer in between begins the count again", () => {
  const breaker = createBreaker(limits, () => 0);
  for (let count = 0; count < 20; count++) {
    expect(breaker.enter()).toBe(0);
    if (count % 5 === 4) breaker.succeed();
    else breaker.fail();
  }
});

test("in no minute more than a fifth of the calls are tried again, or one", () => {
  const steps = fc.array(fc.record({ wait: fc.nat({ max: 5_000 }), wants: fc.boolean() }), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (given) => {
      const { now, pass } = movable();
      const budget = createRetryBudget(0.2, now);
      let began = 0;
      let [calls, retries] = [0, 0];
      for (const { wait, wants } of given) {
        pass(wait);
        if (now() - began >= 60_000) [began, calls, retries] = [now(), 0, 0];
        budget.call();
        calls++;
        if (wants && budget.retry()) retries++;
        expect(retries).toBeLessThanOrEqual(Math.max(1, calls * 0.2));
      }
    }),
  );
});
