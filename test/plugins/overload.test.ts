import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Call,
  createGateway,
  type Gateway,
  localTools,
  type SettledCall,
  textResult,
} from "../../core/mod.ts";
import { type OverloadOptions, overload } from "../../plugins/overload.ts";

/** How busy a gateway is, by its gauges. */
function readLoad(gateway: Gateway): { running: number; waiting: number; refused: number } {
  const read = (name: string): number =>
    gateway.drivers("gauge").get(`toolpipe_load_${name}`)?.read()[0]?.value ?? -1;
  return { running: read("running"), waiting: read("waiting"), refused: read("refused_total") };
}

interface Opened {
  readonly gateway: Gateway;
  /** Who is being served, in the order in which it began. */
  readonly begun: string[];
  /** Ends the oldest call that is being served. */
  end(): void;
  call(actor: string, signal?: AbortSignal): Promise<SettledCall>;
}

async function openOverload(options: OverloadOptions): Promise<Opened> {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const tool = {
    name: "work",
    inputSchema: { type: "object" },
    run: async (_: unknown, { call: { actor } }: { call: Call }) => {
      begun.push(actor.id);
      await new Promise<void>((resolve) => ends.push(resolve));
      return textResult("done");
    },
  };
  const outer = {
    name: "outer",
    inputSchema: { type: "object" },
    run: async (_: unknown, { call }: { call: Call }) => {
      await gateway.run({ tool: "s:quick", parent: call });
      return textResult("done");
    },
  };
  const quick = { name: "quick", inputSchema: { type: "object" }, run: () => textResult("quick") };
  const gateway: Gateway = await createGateway({
    plugins: [overload({ local: true, ...options }), localTools("s", { id: "s" }, [tool, outer, quick])],
  });
  return {
    gateway,
    begun,
    end: () => ends.shift()?.(),
    call: (actor, signal) =>
      gateway.run({ tool: "s:work", actor: { id: actor, scopes: [] }, ...(signal && { signal }) }),
  };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("more calls than can be made at once", () => {
  test("wait, and each caller has a turn before any has two", async () => {
    const { call, begun, end } = await openOverload({ maxConcurrent: 1 });
    const calls = ["a", "a", "a", "a", "b", "c"].map((actor) => call(actor));
    for (let count = 0; count < calls.length; count++) {
      await tick();
      end();
    }
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true);
    expect(begun).toEqual(["a", "a", "b", "c", "a", "a"]);
  });

  test("are refused where too many wait, and are told when to come again", async () => {
    const { call, end, gateway } = await openOverload({ maxConcurrent: 1, maxWaiting: 1 });
    const first = [call("a"), call("b")];
    await tick();
    const third = await call("c");
    expect(third.error).toMatchObject({
      code: "OVERLOADED",
      data: { retry_after: 1, sent: false },
      message: "The gateway is overloaded: 1 calls are queued. Try again in 1 s.",
    });
    expect(readLoad(gateway)).toMatchObject({ running: 1, waiting: 1, refused: 1 });
    end();
    await tick();
    end();
    expect((await Promise.all(first)).map(({ ok }) => ok)).toEqual([true, true]);
  });

  test("of one caller leave room for those of others", async () => {
    const { call, end } = await openOverload({ maxConcurrent: 1, maxWaitingEach: 1 });
    const calls = [call("a"), call("a"), call("a"), call("b")];
    await tick();
    expect((await calls[2])?.error?.code).toBe("OVERLOADED");
    for (let count = 0; count < 3; count++) {
      end();
      await tick();
    }
    expect((await calls[3])?.ok).toBe(true);
  });

  test("no longer wait once they are cancelled", async () => {
    const { call, end, begun, gateway } = await openOverload({ maxConcurrent: 1 });
    const abort = new AbortController();
    const first = call("a");
    const second = call("b", abort.signal);
    await tick();
    abort.abort();
    expect((await second).error?.code).toBe("CANCELLED");
    expect(readLoad(gateway)).toMatchObject({ running: 1, waiting: 0 });
    end();
    await first;
    expect(begun).toEqual(["a"]);
    expect(readLoad(gateway).running).toBe(0);
  });
});

test("a call that is made for another one never waits for it", async () => {
  const { gateway } = await openOverload({ maxConcurrent: 1, maxWaiting: 0 });
  expect((await gateway.run({ tool: "s:outer" })).ok).toBe(true);
});

test("the user of this machine is alone, and never sent away", async () => {
  const { gateway, call, end } = await openOverload({ maxConcurrent: 1, maxWaiting: 0, local: false });
  const calls = [call("local"), call("local"), call("local")];
  await tick();
  const another = call("a");
  await tick();
  expect((await call("b")).error?.code).toBe("OVERLOADED");
  expect(readLoad(gateway)).toMatchObject({ running: 1, waiting: 0 });
  for (let count = 0; count < 4; count++) end();
  for (const done of [...calls, another]) expect((await done).ok).toBe(true);
});

test("extra: while the process is late by more than 200 ms, calls are refused before anything is done", async () => {
  const { gateway, call, begun } = await openOverload({});
  await gateway.run({ tool: "s:quick" });
  const until = performance.now() + 600;
  while (performance.now() < until);
  const refused = await call("a");
  expect(refused.error).toMatchObject({
    code: "OVERLOADED",
    message: expect.stringContaining("its event loop lags by"),
  });
  expect(begun).toEqual([]);
  await expect.poll(async () => (await gateway.run({ tool: "s:quick" })).ok, { timeout: 10_000 }).toBe(true);
});

test("without calls, nothing is done", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { gateway } = await openOverload({});
  expect(vi.getTimerCount()).toBe(0);
  await gateway.run({ tool: "s:quick" });
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(10_000);
  expect(vi.getTimerCount()).toBe(0);
  await gateway.run({ tool: "s:quick" });
  await gateway.close();
  expect(vi.getTimerCount()).toBe(0);
});

test("no slot is lost or used twice, whatever calls come and go", async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("call" as const), actor: fc.constantFrom("a", "b", "c") }),
    fc.record({ do: fc.constant("end" as const), actor: fc.constant("") }),
    fc.record({ do: fc.constant("cancel" as const), actor: fc.constant("") }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { call, end, gateway } = await openOverload({ maxConcurrent: 2, maxWaiting: 4, maxLagMs: 1e6 });
      const calls: { aborted: AbortController; done: Promise<SettledCall> }[] = [];
      for (const { do: what, actor } of steps) {
        if (what === "call") {
          const aborted = new AbortController();
          calls.push({ aborted, done: call(actor, aborted.signal) });
        } else if (what === "end") end();
        else calls.at(-1)?.aborted.abort();
        await tick();
        const { running, waiting } = readLoad(gateway);
        expect(running).toBeLessThanOrEqual(2);
        expect(waiting).toBeLessThanOrEqual(4);
      }
      for (const { aborted } of calls) aborted.abort();
      for (let count = 0; count < 10; count++) {
        end();
        await tick();
      }
      await Promise.all(calls.map(({ done }) => done));
      await tick();
      expect(readLoad(gateway)).toMatchObject({ running: 0, waiting: 0 });
      await gateway.close();
    }),
    { numRuns: 40 },
  );
});
