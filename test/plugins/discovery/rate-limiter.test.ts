import fc from "fast-check";
import { expect, test } from "vitest";
import { limitRequests } from "../../../plugins/discovery/discover-server.ts";
import { memoryLimiter } from "../../../plugins/lib/rate.ts";
import { catchFailure } from "../../support/failure.ts";
import { faked, remote } from "./_fixtures.ts";

const usual = { requestsPerSecond: 10, burstSize: 20 };

/** A limiter on a clock that goes on only during a wait. */
function timed(limits = {}): { acquire: ReturnType<typeof limitRequests>; now: () => number } {
  let now = 0;
  const acquire = limitRequests(limits, {
    limiter: memoryLimiter(() => now),
    async sleep(ms) {
      now += ms;
    },
  });
  return { acquire, now: () => now };
}

test("twenty questions may come at once, and then ten a second", async () => {
  const { acquire, now } = timed();
  for (let count = 0; count < 20; count++) await acquire("a", usual);
  expect(now()).toBe(0);
  await acquire("a", usual);
  expect(now()).toBe(100);
  for (let count = 0; count < 10; count++) await acquire("a", usual);
  expect(now()).toBe(1_100);
});

test("each server has a bucket of its own", async () => {
  const { acquire, now } = timed();
  for (const server of ["a", "b", "c"]) for (let count = 0; count < 20; count++) await acquire(server, usual);
  expect(now()).toBe(0);
});

test("the limit of a single server goes before the usual one", async () => {
  const { acquire, now } = timed({ slow: { requestsPerSecond: 2, burstSize: 1 } });
  for (let count = 0; count < 3; count++) await acquire("slow", usual);
  expect(now()).toBe(1_000);
  await acquire("other", usual);
  expect(now()).toBe(1_000);
});

test("never are more let through than the burst and what the rate gives meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 10 }),
      fc.nat(40),
      async (rate, burst, extra) => {
        const { acquire, now } = timed();
        const count = burst + extra;
        for (let index = 0; index < count; index++) {
          await acquire("a", { requestsPerSecond: rate, burstSize: burst });
          expect(index + 1).toBeLessThanOrEqual(burst + (now() / 1_000) * rate + 1e-6);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("a discovery waits for its turn at each server", async () => {
  const waits: number[] = [];
  const abort = new AbortController();
  const service = faked(
    {},
    {
      rateLimits: { github: { requestsPerSecond: 0.001, burstSize: 2 } },
      waiting: {
        async sleep(ms, signal) {
          waits.push(ms);
          abort.abort();
          signal?.throwIfAborted();
        },
      },
    },
  );
  const github = remote("github", "https://github.example/mcp");
  await service.discoverTools(github);
  await service.discoverTools(github);
  expect(waits).toEqual([]);
  await catchFailure(service.discoverTools(github, { signal: abort.signal }));
  expect(waits).toHaveLength(1);
  expect(service.sessions.opened).toBe(2);
});

test("an aborted wait ends", async () => {
  const acquire = limitRequests();
  const slow = { requestsPerSecond: 0.001, burstSize: 1 };
  await acquire("a", slow);
  const abort = new AbortController();
  const waiting = catchFailure(acquire("a", slow, abort.signal));
  abort.abort();
  expect((await waiting).code).toBe("CANCELLED");
});
