import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Call, createGateway, GatewayError, localTools, textResult } from "../../core/mod.ts";
import { hang, listed, plugin } from "../support/hooks.ts";
import { until } from "../support/until.ts";

const answer = plugin("answer", {
  execute(call) {
    call.result = textResult("done");
  },
});
const limits = { hookMs: 20, executeMs: 40 };

afterEach(() => {
  vi.useRealTimers();
});

describe("a hook that hangs", () => {
  test.each(["resolve", "policy", "validate"] as const)("in %s ends the call with its name", async (name) => {
    const gateway = await createGateway({
      limits,
      plugins: [listed, plugin("slow", { [name]: hang }), answer],
    });
    const { error, stage } = await gateway.run({ tool: "s:t" });
    expect(error).toMatchObject({
      code: "TIMEOUT",
      message: `The plugin "slow" has not finished its "${name}" hook within 20 ms. The limit is limits.hookMs.`,
      data: { plugin: "slow", ms: 20 },
    });
    expect(stage).toBe(name);
  });

  test("is named also where others before it took their time", async () => {
    const brief = plugin("brief", { policy: () => Promise.resolve() });
    const gateway = await createGateway({
      limits,
      plugins: [listed, brief, plugin("slow", { policy: hang }), answer],
    });
    expect((await gateway.run({ tool: "s:t" })).error?.data["plugin"]).toBe("slow");
  });

  test("has its signal aborted", async () => {
    let signal: AbortSignal | undefined;
    const slow = plugin("slow", {
      policy(call) {
        signal = call.signal;
        return hang();
      },
    });
    const gateway = await createGateway({ limits, plugins: [listed, slow, answer] });
    await gateway.run({ tool: "s:t" });
    expect(signal?.reason).toMatchObject({ code: "TIMEOUT" });
  });

  test("in error is left behind, and reported to the program alone", async () => {
    const reports: GatewayError[] = [];
    const gateway = await createGateway({
      limits,
      onReport: (error) => void reports.push(error),
      plugins: [plugin("slow", { error: hang })],
    });
    gateway.report(new GatewayError("INTERNAL", "Something."));
    await until(() => reports.length > 1);
    expect(reports.map(({ code, data }) => [code, data["plugin"]])).toEqual([
      ["INTERNAL", undefined],
      ["TIMEOUT", "slow"],
    ]);
  });

  test("in execute after the tool has answered ends the call, also where a plugin limited the tool", async () => {
    const slow = plugin("slow", {
      async execute(_call, next) {
        await next();
        await hang();
      },
    });
    const limiter = plugin("limiter", {
      async execute(call, next) {
        call.isTimed = true;
        await next();
        call.isTimed = false;
      },
    });
    const gateway = await createGateway({ limits, plugins: [listed, slow, limiter, answer] });
    expect((await gateway.run({ tool: "s:t" })).error).toMatchObject({ code: "TIMEOUT" });
  });

  test("in execute ends the call, where no plugin limits it", async () => {
    const wrapper = plugin("wrapper", { execute: (_call, next) => next() });
    const gateway = await createGateway({
      limits,
      plugins: [listed, wrapper, plugin("slow", { execute: hang })],
    });
    expect((await gateway.run({ tool: "s:t" })).error).toMatchObject({
      code: "TIMEOUT",
      message:
        '"s:t" was not done within 40 ms; the last plugin that ran was "slow". The limit is limits.executeMs.',
    });
  });

  test.each(["setup", "ready"] as const)("in %s keeps the gateway from opening", async (name) => {
    const slow = name === "setup" ? { name: "slow", setup: hang } : plugin("slow", { ready: hang });
    await expect(createGateway({ limits, plugins: [slow] })).rejects.toMatchObject({
      code: "TIMEOUT",
      message: expect.stringMatching(/^The plugin "slow" has not finished its .* within 20 ms\./),
    });
  });

  test("in close or catalog:change is left behind, and reported", async () => {
    const reports: GatewayError[] = [];
    const slow = plugin("slow", {
      close: hang,
      "catalog:change": hang,
      error: (error) => void reports.push(error),
    });
    const gateway = await createGateway({ limits, plugins: [slow] });
    await gateway.catalog.replace({ id: "s" }, []);
    await gateway.close();
    expect(reports.map(({ code, data }) => [code, data["plugin"]])).toEqual([
      ["TIMEOUT", "slow"],
      ["TIMEOUT", "slow"],
    ]);
  });

  test.each(["catalog:change", "tool:discover"] as const)(
    "in %s is named, and not the plugin that waits for it",
    async (name) => {
      const errors: GatewayError[] = [];
      const gateway = await createGateway({
        limits,
        plugins: [
          plugin("listener", { error: (error) => void errors.push(error) }),
          plugin("slow", { [name]: hang }),
          localTools("notes", { id: "notes" }, [
            { name: "read", inputSchema: { type: "object" }, run: () => textResult("") },
          ]),
        ],
      }).catch((error) => void errors.push(error));
      await gateway?.close();
      expect(errors[0]).toMatchObject({
        code: "TIMEOUT",
        message: `The plugin "slow" has not finished its "${name}" hook within 10 ms. The limit is half of limits.hookMs.`,
      });
    },
  );

  test("in tool:discover keeps the tools of that list out", async () => {
    const gateway = await createGateway({ limits, plugins: [plugin("slow", { "tool:discover": hang })] });
    const added = gateway.catalog.replace({ id: "s" }, [{ name: "t", inputSchema: {} }]);
    await expect(added).rejects.toMatchObject({ code: "TIMEOUT", data: { plugin: "slow" } });
  });

  test("does not end a process that has nothing else to do without a word", async () => {
    const fixture = fileURLToPath(new URL("./_hanging-policy.ts", import.meta.url));
    const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
    const args = "Deno" in globalThis ? ["run", "-A", fixture] : [jiti, fixture];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain('The plugin "hanging" has not finished its "policy" hook within 30 ms.');
  });
});

describe("the limits leave alone", () => {
  test("hooks that answer at once: they set no timer", async () => {
    const gateway = await createGateway({ plugins: [listed, plugin("quick", { policy() {} }), answer] });
    const timers = vi.spyOn(globalThis, "setTimeout");
    await gateway.run({ tool: "s:t" });
    expect(timers).not.toHaveBeenCalled();
    timers.mockRestore();
  });

  test("a call that a plugin limits", async () => {
    const timing = plugin("timing", {
      execute(call, next) {
        call.isTimed = true;
        return next();
      },
    });
    const slow = plugin("slow", {
      async execute(call) {
        await new Promise((resolve) => setTimeout(resolve, 120));
        call.result = textResult("done");
      },
    });
    const gateway = await createGateway({ limits, plugins: [listed, timing, slow] });
    expect((await gateway.run({ tool: "s:t" })).ok).toBe(true);
  });

  test("a call that waits for one it has made", async () => {
    const tools = localTools("own", { id: "own" }, [
      {
        name: "outer",
        inputSchema: {},
        run: async (_args, { gateway, call }) =>
          textResult(String((await gateway.run({ tool: "own:inner", parent: call })).ok)),
      },
      {
        name: "inner",
        inputSchema: {},
        async run(_args, { call }) {
          call.isTimed = true;
          await new Promise((resolve) => setTimeout(resolve, 120));
          return textResult("done");
        },
      },
    ]);
    const gateway = await createGateway({ limits, plugins: [tools] });
    expect((await gateway.run({ tool: "own:outer" })).result).toEqual(textResult("true"));
  });

  test("a call that is paused, until it goes on", async () => {
    let paused: Call | undefined;
    const asking = plugin("asking", {
      async policy(call) {
        paused = call;
        const resume = call.pause();
        await new Promise((resolve) => setTimeout(resolve, 80));
        resume();
      },
    });
    const gateway = await createGateway({ limits, plugins: [listed, asking, answer] });
    expect((await gateway.run({ tool: "s:t" })).ok).toBe(true);
    expect(paused?.activeMs).toBeLessThan(60);
  });

  test("no timer once the call has ended for another reason", async () => {
    vi.useFakeTimers();
    const gateway = await createGateway({ plugins: [listed, plugin("slow", { policy: hang }), answer] });
    const controller = new AbortController();
    const running = gateway.run({ tool: "s:t", signal: controller.signal });
    expect(vi.getTimerCount()).toBe(1);
    controller.abort();
    expect((await running).error?.code).toBe("CANCELLED");
    expect(vi.getTimerCount()).toBe(0);
  });
});
