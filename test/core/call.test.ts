import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { beginCall, settleCall } from "../../core/call.ts";
import {
  type Actor,
  Call,
  createGateway,
  GatewayError,
  localTools,
  type Progress,
  type SettledCall,
  type ToolResult,
  textResult,
} from "../../core/mod.ts";
import { collectUnhandled, listed, plugin } from "../support/hooks.ts";

const first = new GatewayError("TIMEOUT", "Too slow.");
const second = new GatewayError("CANCELLED", "Given up.");

describe("a new call", () => {
  test("without a parent it is the local user's, with no meta and no arguments", () => {
    const call = new Call({ tool: "s:t" });
    expect(call).toMatchObject({
      toolId: "s:t",
      actor: { id: "local", scopes: [] },
      meta: {},
      parent: undefined,
      tool: undefined,
      result: undefined,
      via: undefined,
      stage: "resolve",
      ended: false,
    });
  });

  test("no two calls have the same id", () => {
    const ids = Array.from({ length: 100 }, () => new Call({ tool: "s:t" }).id);
    expect(new Set(ids).size).toBe(100);
  });

  test("the local user cannot be given scopes", () => {
    const { actor } = new Call({ tool: "s:t" });
    expect(() => (actor.scopes as string[]).push("admin")).toThrow(TypeError);
    expect(() => Object.assign(actor, { id: "root" })).toThrow(TypeError);
  });

  test("it takes actor, trace context and progress from its parent where they are not given", () => {
    const heard: Progress[] = [];
    const actor: Actor = { id: "alice", scopes: ["read"] };
    const trace = { traceparent: "00-1", tracestate: "a=b" };
    const meta = { ...trace, "toolpipe/confirmed": true, other: "1" };
    const parent = new Call({
      tool: "s:t",
      actor,
      meta,
      onProgress: (progress) => void heard.push(progress),
    });
    const child = new Call({ tool: "s:u", parent });
    expect(child.actor).toBe(actor);
    expect(child.meta).toEqual(trace);
    child.report({ progress: 1 });
    expect(heard).toEqual([{ progress: 1 }]);
  });

  test("given values have precedence over those of the parent", () => {
    const parentHeard = vi.fn();
    const heard = vi.fn();
    const parent = new Call({ tool: "s:t", meta: { trace: "1" }, onProgress: parentHeard });
    const bob: Actor = { id: "bob", scopes: [] };
    const child = new Call({ tool: "s:u", parent, actor: bob, meta: {}, onProgress: heard });
    child.report({ progress: 1 });
    expect(child).toMatchObject({ actor: bob, meta: {} });
    expect(heard).toHaveBeenCalledTimes(1);
    expect(parentHeard).not.toHaveBeenCalled();
  });
});

describe("cancel", () => {
  test("the first reason counts", () => {
    const call = new Call({ tool: "s:t" });
    const { signal } = call;
    call.cancel(first);
    call.cancel(second);
    expect(call.cancelled).toBe(first);
    expect(signal.reason).toBe(first);
  });

  test("a signal that is asked for afterwards is aborted already", () => {
    const call = new Call({ tool: "s:t" });
    call.cancel(first);
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toBe(first);
  });

  test("a call that is over cannot be cancelled", () => {
    const call = new Call({ tool: "s:t" });
    const { signal } = call;
    settleCall(call, undefined);
    call.cancel(first);
    expect(call.cancelled).toBeUndefined();
    expect(signal.aborted).toBe(false);
  });

  test("the signal is the same each time", () => {
    const call = new Call({ tool: "s:t" });
    expect(call.signal).toBe(call.signal);
  });

  test("a listener of the signal that cancels again changes nothing", () => {
    const call = new Call({ tool: "s:t" });
    call.signal.addEventListener("abort", () => call.cancel(second));
    call.cancel(first);
    expect(call.cancelled).toBe(first);
  });
});

describe("begin", () => {
  test("the end of a call runs once, after all listeners of its cancellation", () => {
    const call = new Call({ tool: "s:t" });
    const heard: string[] = [];
    beginCall(call, () => heard.push("ended"));
    call.onCancel(() => heard.push("listener"));
    call.cancel(first);
    call.cancel(second);
    expect(heard).toEqual(["listener", "ended"]);
  });
});

describe("settle", () => {
  test("with a result it is ok, without one it is unanswered, and an error beats a result", () => {
    const answered = new Call({ tool: "s:t" });
    answered.result = textResult("x");
    expect(settleCall(answered, undefined)).toMatchObject({
      ok: true,
      result: textResult("x"),
      error: undefined,
    });
    const failed = new Call({ tool: "s:t" });
    failed.result = textResult("x");
    expect(settleCall(failed, first)).toMatchObject({ ok: false, result: undefined, error: first });
    const silent = settleCall(new Call({ tool: "s:t" }), undefined);
    expect(silent).toMatchObject({ ok: false, result: undefined, error: { code: "UNANSWERED" } });
  });

  test("a result of null is no answer", () => {
    const call = new Call({ tool: "s:t" });
    call.result = null as unknown as ToolResult;
    expect(settleCall(call, undefined)).toMatchObject({ ok: false, error: { code: "UNANSWERED" } });
  });

  test("it names the parent by its id", () => {
    const parent = new Call({ tool: "s:t" });
    const child = new Call({ tool: "s:u", parent });
    expect(settleCall(child, first)).toMatchObject({ id: child.id, toolId: "s:u", parentId: parent.id });
    expect(settleCall(parent, first).parentId).toBeUndefined();
  });

  test("the type knows that a result or an error is there", () => {
    const settled: SettledCall = settleCall(new Call({ tool: "s:t" }), first);
    if (settled.ok) {
      expectTypeOf(settled.result).toEqualTypeOf<ToolResult>();
      expectTypeOf(settled.error).toEqualTypeOf<undefined>();
    } else {
      expectTypeOf(settled.error).toEqualTypeOf<GatewayError>();
      expectTypeOf(settled.result).toEqualTypeOf<undefined>();
    }
    expect(settled.ok).toBe(false);
  });
});

describe("progress", () => {
  test("it travels to the caller, in order", async () => {
    const heard: Progress[] = [];
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("tool", {
          async execute(call) {
            call.report({ progress: 1, total: 2, message: "half" });
            await Promise.resolve();
            call.report({ progress: 2, total: 2 });
            call.result = textResult("done");
          },
        }),
      ],
    });
    await gateway.run({ tool: "s:t", onProgress: (progress) => void heard.push(progress) });
    expect(heard).toEqual([
      { progress: 1, total: 2, message: "half" },
      { progress: 2, total: 2 },
    ]);
  });

  test("it travels from an inner call to the caller of the outer one, through any number of calls", async () => {
    const heard: Progress[] = [];
    const gateway = await createGateway({
      plugins: [
        localTools("tools", { id: "s" }, [
          {
            name: "nest",
            inputSchema: {},
            async run({ levels }, { gateway, call }) {
              if (levels === 0) call.report({ progress: 7 });
              else await gateway.run({ tool: "s:nest", args: { levels: Number(levels) - 1 }, parent: call });
              return textResult("done");
            },
          },
        ]),
      ],
    });
    const onProgress = (progress: Progress): void => void heard.push(progress);
    await gateway.run({ tool: "s:nest", args: { levels: 3 }, onProgress });
    expect(heard).toEqual([{ progress: 7 }]);
  });

  test("drops reports after the end of the call, also from a running inner call", async () => {
    const heard = vi.fn();
    const parent = new Call({ tool: "s:t", onProgress: heard });
    const child = new Call({ tool: "s:u", parent });
    settleCall(parent, undefined);
    parent.report({ progress: 1 });
    child.report({ progress: 2 });
    expect(heard).not.toHaveBeenCalled();
  });

  test("a listener that throws does no harm", async () => {
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("tool", {
          execute(call) {
            call.report({ progress: 1 });
            call.result = textResult("done");
          },
        }),
      ],
    });
    const onProgress = (): never => {
      throw new Error("broken");
    };
    expect((await gateway.run({ tool: "s:t", onProgress })).ok).toBe(true);
  });

  test("a listener that rejects does no harm", async () => {
    const call = new Call({ tool: "s:t", onProgress: () => Promise.reject(new Error("broken")) });
    expect(await collectUnhandled(async () => call.report({ progress: 1 }))).toEqual([]);
  });
});

describe("progress heard by a hook", () => {
  test("is heard beside the caller, by every listener, until the call is over", () => {
    const heard: string[] = [];
    const call = new Call({ tool: "a:b", onProgress: ({ progress }) => heard.push(`caller ${progress}`) });
    call.listen(({ progress }) => heard.push(`first ${progress}`));
    call.listen(() => {
      throw new Error("a listener's own concern");
    });
    call.listen(async () => {
      throw new Error("also later");
    });
    call.report({ progress: 1 });
    settleCall(call, undefined);
    call.report({ progress: 2 });
    expect(heard).toEqual(["first 1", "caller 1"]);
  });

  test("of an inner call is heard of the inner and of the outer one", () => {
    const heard: number[] = [];
    const outer = new Call({ tool: "a:b" });
    outer.listen(({ progress }) => heard.push(progress));
    new Call({ tool: "a:c", parent: outer }).report({ progress: 5 });
    expect(heard).toEqual([5]);
  });
});
