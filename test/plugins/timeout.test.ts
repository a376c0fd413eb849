import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Call,
  createGateway,
  type Gateway,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { type TimeoutOptions, timeout } from "../../plugins/timeout.ts";
import { getError, readText } from "../support/failure.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A tool that answers when it is told to, and keeps the last call it saw. */
function slow(): { plugin: Plugin; answer: () => void; call: () => Call } {
  let seen: Call | undefined;
  let answer = (): void => {};
  const plugin = localTools("slow", { id: "slow" }, [
    {
      name: "wait",
      inputSchema: { type: "object" },
      run(_args, { call }) {
        seen = call;
        return new Promise((resolve) => {
          answer = () => resolve(textResult("done"));
        });
      },
    },
    {
      name: "crash",
      inputSchema: { type: "object" },
      run: () => Promise.reject(new Error("crashed")),
    },
  ]);
  return { plugin, answer: () => answer(), call: () => seen as Call };
}

async function openTimeout(options: TimeoutOptions | undefined, tool: Plugin): Promise<Gateway> {
  return createGateway({ plugins: [timeout(options ?? {}), tool] });
}

test("a call whose tool takes too long ends with TIMEOUT, at its time and not before", async () => {
  const { plugin } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  let over = false;
  const running = gateway.run({ tool: "slow:wait" }).finally(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(99);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  const call = await running;
  expect(call.stage).toBe("execute");
  const error = getError(call);
  expect(error).toMatchObject({
    code: "TIMEOUT",
    data: { ms: 100, setting: "options.timeout.ms" },
    kind: { spec: "TOOL_EXECUTION_TIMEOUT", exit: 3, retry: true },
  });
  expect(error.message).toBe(`"slow:wait" did not answer within 100 ms. The limit is options.timeout.ms.`);
});

test("the limit of a config that is a section of its file is named by its path there", async () => {
  const { plugin } = slow();
  const gateway = await createGateway({ plugins: [timeout({ ms: 5 }), plugin], configSection: "discovery" });
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(5);
  expect(getError(await running).data).toMatchObject({ setting: "discovery.options.timeout.ms" });
});

test("its signal is aborted with the same error", async () => {
  const { plugin, call } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(1);
  const { signal } = call();
  expect(signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(99);
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe(getError(await running));
});

test("an answer in time is the answer, and leaves no timer behind", async () => {
  const { plugin, answer } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(99);
  expect(vi.getTimerCount()).toBe(1);
  answer();
  expect(readText(await running)).toBe("done");
  expect(vi.getTimerCount()).toBe(0);
});

test("a failure in time leaves no timer behind either", async () => {
  const { plugin } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  expect(getError(await gateway.run({ tool: "slow:crash" })).code).not.toBe("TIMEOUT");
  expect(vi.getTimerCount()).toBe(0);
});

test("an answer that comes too late changes nothing", async () => {
  const { plugin, answer } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(100);
  const call = await running;
  answer();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(call).toMatchObject({ ok: false, result: undefined, error: { code: "TIMEOUT" } });
  expect(vi.getTimerCount()).toBe(0);
});

test("a caller who cancels first is told of that, and not of the time", async () => {
  const { plugin } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  const controller = new AbortController();
  const running = gateway.run({ tool: "slow:wait", signal: controller.signal });
  await vi.advanceTimersByTimeAsync(50);
  controller.abort();
  expect(getError(await running).code).toBe("CANCELLED");
});

test("calls are timed each on its own", async () => {
  const { plugin } = slow();
  const gateway = await openTimeout({ ms: 100 }, plugin);
  const ended: string[] = [];
  const first = gateway.run({ tool: "slow:wait" }).then(() => ended.push("first"));
  await vi.advanceTimersByTimeAsync(60);
  const second = gateway.run({ tool: "slow:wait" }).then(() => ended.push("second"));
  await vi.advanceTimersByTimeAsync(40);
  expect(ended).toEqual(["first"]);
  await vi.advanceTimersByTimeAsync(60);
  await Promise.all([first, second]);
  expect(ended).toEqual(["first", "second"]);
});

test("the time is 30 seconds if none is given", async () => {
  const { plugin } = slow();
  const gateway = await openTimeout(undefined, plugin);
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(29_999);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(getError(await running).data).toMatchObject({ ms: 30_000 });
});

describe("a tool that may take longer or shorter than others", () => {
  const options = { ms: 100, servers: { slow: 200, other: 5 }, tools: { "slow:crash": 5, "slow:wait": 300 } };

  test.each([
    ["its own limit", options, 300, 'options.timeout.tools["slow:wait"]'],
    ["that of its server", { ...options, tools: {} }, 200, 'options.timeout.servers["slow"]'],
    ["that of all", { ms: 100, servers: { other: 5 } }, 100, "options.timeout.ms"],
  ])("has %s, and is told which it was", async (_which, given, ms, setting) => {
    const { plugin } = slow();
    const gateway = await openTimeout(given, plugin);
    const running = gateway.run({ tool: "slow:wait" });
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    const error = getError(await running);
    expect(error).toMatchObject({ code: "TIMEOUT", data: { ms, setting } });
    expect(error.message).toContain(`The limit is ${setting}.`);
  });
});

describe("progress", () => {
  test("begins the time again, and what is late is late by its last progress", async () => {
    const { plugin, call } = slow();
    const gateway = await openTimeout({ ms: 100 }, plugin);
    const running = gateway.run({ tool: "slow:wait" });
    for (const progress of [1, 2, 3]) {
      await vi.advanceTimersByTimeAsync(90);
      call().report({ progress });
    }
    await vi.advanceTimersByTimeAsync(99);
    expect(call().ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(getError(await running).message).toContain("within 100 ms of its last progress");
  });

  test("does not if the option is off", async () => {
    const { plugin, call } = slow();
    const gateway = await openTimeout({ ms: 100, extendOnProgress: false }, plugin);
    const running = gateway.run({ tool: "slow:wait" });
    await vi.advanceTimersByTimeAsync(90);
    call().report({ progress: 1 });
    await vi.advanceTimersByTimeAsync(10);
    expect(getError(await running).code).toBe("TIMEOUT");
  });

  test("fault 13: without end it ends at the maximum, which is 300 seconds if none is given", async () => {
    for (const [options, longest] of [
      [{ ms: 100, maxMs: 1_000 }, 1_000],
      [{}, 300_000],
    ] as const) {
      const { plugin, call } = slow();
      const gateway = await openTimeout(options, plugin);
      const running = gateway.run({ tool: "slow:wait" });
      for (let time = 0; time < longest; time += 50) {
        expect(call()?.ended ?? false).toBe(false);
        await vi.advanceTimersByTimeAsync(50);
        call().report({ progress: time });
      }
      expect(getError(await running)).toMatchObject({
        code: "TIMEOUT",
        data: { ms: longest, setting: "options.timeout.maxMs" },
        message: `"slow:wait" was not done within ${longest} ms, though it reported progress. The limit is options.timeout.maxMs.`,
      });
    }
  });

  test("is of no use where a tool may take longer than the maximum anyway", async () => {
    const { plugin, call } = slow();
    const gateway = await openTimeout({ ms: 500, maxMs: 100 }, plugin);
    const running = gateway.run({ tool: "slow:wait" });
    await vi.advanceTimersByTimeAsync(499);
    call().report({ progress: 1 });
    await vi.advanceTimersByTimeAsync(1);
    expect(getError(await running)).toMatchObject({ data: { ms: 500, setting: "options.timeout.maxMs" } });
  });

  test("still reaches the caller", async () => {
    const { plugin, call, answer } = slow();
    const gateway = await openTimeout({ ms: 100 }, plugin);
    const seen: number[] = [];
    const running = gateway.run({ tool: "slow:wait", onProgress: ({ progress }) => seen.push(progress) });
    await vi.advanceTimersByTimeAsync(1);
    call().report({ progress: 7 });
    answer();
    await running;
    expect(seen).toEqual([7]);
  });
});

describe("a caller's own wish", () => {
  const wishing = (ms: unknown) => ({ tool: "slow:wait", meta: { [requestMeta.timeoutMs]: ms } });

  test.each([
    ["shortens the time", { ms: 100 }, 40, 40],
    ["prolongs it", { ms: 100, maxMs: 1_000 }, 700, 700],
    ["prolongs that of a tool too", { tools: { "slow:wait": 50 }, maxMs: 1_000 }, 1_000, 1_000],
  ])("%s", async (_what, options, wish, ms) => {
    const { plugin, call } = slow();
    const gateway = await openTimeout(options, plugin);
    const running = gateway.run(wishing(wish));
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(call().ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const error = getError(await running);
    expect(error).toMatchObject({ code: "TIMEOUT", data: { ms } });
    expect(error.message).toBe(
      `"slow:wait" did not answer within ${ms} ms. The limit is the caller's own, "toolpipe/timeout-ms".`,
    );
  });

  test.each([
    ["the maximum", { ms: 100, maxMs: 1_000 }, 1_000],
    ["what its tool may take anyway", { ms: 500, maxMs: 100 }, 500],
  ])("goes no further than %s", async (_what, options, ms) => {
    const { plugin, call } = slow();
    const gateway = await openTimeout(options, plugin);
    const running = gateway.run(wishing(2 ** 40));
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(call().ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(getError(await running)).toMatchObject({
      data: { ms, setting: "options.timeout.maxMs" },
      message: `"slow:wait" did not answer within ${ms} ms. The limit is options.timeout.maxMs.`,
    });
  });

  test("is not prolonged by progress", async () => {
    const { plugin, call } = slow();
    const gateway = await openTimeout({ ms: 100 }, plugin);
    const running = gateway.run(wishing(150));
    await vi.advanceTimersByTimeAsync(90);
    call().report({ progress: 1 });
    await vi.advanceTimersByTimeAsync(60);
    expect(getError(await running)).toMatchObject({ code: "TIMEOUT", data: { ms: 150 } });
  });

  test.each([0, -1, Number.NaN, "50", null])("that is none changes nothing: %s", async (wish) => {
    const { plugin } = slow();
    const gateway = await openTimeout({ ms: 100 }, plugin);
    const running = gateway.run(wishing(wish));
    await vi.advanceTimersByTimeAsync(100);
    expect(getError(await running).data).toMatchObject({ ms: 100, setting: "options.timeout.ms" });
  });
});

test("a tool of the gateway itself is not timed: the call that it makes is, and both end with that", async () => {
  const { plugin } = slow();
  const outer = localTools("own", { id: "own", builtin: true }, [
    {
      name: "execute",
      inputSchema: { type: "object" },
      async run(_args, { gateway, call }) {
        await new Promise((resolve) => setTimeout(resolve, 80));
        const inner = await gateway.run({ tool: "slow:wait", parent: call });
        return textResult(inner.ok ? "done" : inner.error.message);
      },
    },
  ]);
  const gateway = await createGateway({ plugins: [timeout({ ms: 100 }), plugin, outer] });
  const running = gateway.run({ tool: "own:execute" });
  await vi.advanceTimersByTimeAsync(180);
  expect(readText(await running)).toContain(`"slow:wait" did not answer within 100 ms`);
});

test("waiting for a tool to be found does not count", async () => {
  const { plugin, answer } = slow();
  const finding: Plugin = {
    name: "finding",
    setup: () => ({ resolve: () => new Promise((resolve) => setTimeout(resolve, 500)) }),
  };
  const gateway = await createGateway({ plugins: [timeout({ ms: 100 }), finding, plugin] });
  const running = gateway.run({ tool: "slow:wait" });
  await vi.advanceTimersByTimeAsync(550);
  answer();
  expect(readText(await running)).toBe("done");
});

test.each([
  [{ tools: { wait: 5 } }, /tools/],
  [{ servers: { slow: 0 } }, /servers/],
  [{ maxMs: 0 }, /maxMs/],
])("%j is refused", (options, message) => {
  expect(() => timeout(options as TimeoutOptions)).toThrow(message);
});

describe("the option ms", () => {
  test.each([0, -1, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY, "100", null])("cannot be %s", (ms) => {
    expect(() => timeout({ ms: ms as number })).toThrow(
      /^The plugin "timeout" has a wrong option: ms: expected /,
    );
  });

  test.each([1, 2 ** 31 - 1])("can be %s", (ms) => {
    expect(timeout({ ms }).name).toBe("timeout");
  });
});
