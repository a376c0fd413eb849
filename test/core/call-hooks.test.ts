import fc from "fast-check";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { settleCall } from "../../core/call.ts";
import {
  callInOrder,
  callNested,
  createIsolatedCaller,
  isPending,
  setHookOwner,
} from "../../core/call-hooks.ts";
import { hookNames } from "../../core/hooks.ts";
import {
  Call,
  createGateway,
  GatewayError,
  type HookName,
  type Hooks,
  type Next,
  textResult,
} from "../../core/mod.ts";
import {
  collectUnhandled,
  deferred,
  listed,
  plugin,
  quiet,
  type Throwable,
  throwableNames,
  throwables,
} from "../support/hooks.ts";

const newCall = (): Call => new Call({ tool: "s:t" });

/** Runs `execute` hooks until they are over. */
function runWrapped(
  hooks: readonly ((...args: unknown[]) => void | Promise<void>)[],
  call = newCall(),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = (failure?: GatewayError): void => (failure ? reject(failure) : resolve());
    callNested(hooks, [call, over as unknown as Next], "execute");
  });
}

/** The error a caller of hooks ended with, whether it threw or rejected. */
async function catchFailure(act: () => unknown): Promise<GatewayError> {
  try {
    await act();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error("It did not fail.");
}

describe("the names", () => {
  test("every hook of the type is in the list, once", () => {
    expect(new Set(hookNames).size).toBe(hookNames.length);
    expect(hookNames).toEqual(
      expect.arrayContaining([
        "resolve",
        "policy",
        "validate",
        "execute",
        "audit",
        "ready",
        "start",
        "close",
        "error",
      ]),
    );
    expect(hookNames).toHaveLength(12);
    expectTypeOf<(typeof hookNames)[number]>().toEqualTypeOf<keyof Hooks>();
    expectTypeOf<HookName>().toEqualTypeOf<keyof Hooks>();
  });
});

describe("isPending", () => {
  test("a promise and a thenable are pending; nothing else is", () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const thenable = { then() {} };
    for (const value of [Promise.resolve(), thenable]) expect(isPending<unknown>(value)).toBe(true);
    // biome-ignore lint/suspicious/noThenProperty: the name alone does not make a promise
    for (const value of [undefined, null, 0, "", "then", {}, { then: 1 }, () => {}]) {
      expect(isPending(value)).toBe(false);
    }
  });
});

describe("callInOrder", () => {
  test("hooks that return nothing cost no microtask", () => {
    const log: string[] = [];
    const returned = callInOrder([() => void log.push("a"), () => void log.push("b")], [newCall()], "policy");
    expect(returned).toBeUndefined();
    expect(log).toEqual(["a", "b"]);
  });

  test("each hook starts once the one before is done, be it sync, async or a thenable", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("sync", "async", "thenable"), { maxLength: 8 }),
        async (kinds) => {
          const log: string[] = [];
          const hooks = kinds.map((kind, index) => (): void | Promise<void> => {
            log.push(`start ${index}`);
            const end = (): void => void log.push(`end ${index}`);
            if (kind === "sync") return end();
            const promise = Promise.resolve().then(end);
            if (kind === "async") return promise;
            // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
            return { then: promise.then.bind(promise) } as Promise<void>;
          });
          await callInOrder(hooks, [newCall()], "policy");
          expect(log).toEqual(kinds.flatMap((_, index) => [`start ${index}`, `end ${index}`]));
        },
      ),
    );
  });

  test("the first failure, of any kind, stops the rest and names its plugin and hook", async () => {
    const outcome = fc.record({
      fails: fc.boolean(),
      async: fc.boolean(),
      thrown: fc.constantFrom<Throwable>(...throwableNames),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(outcome, { minLength: 1, maxLength: 6 }), async (outcomes) => {
        const started: number[] = [];
        let value: unknown;
        const hooks = outcomes.map(({ fails, async, thrown }, index) => {
          const act = (): void => {
            if (!fails) return;
            value = throwables[thrown]();
            throw value;
          };
          const hook = (): void | Promise<void> => {
            started.push(index);
            return async ? Promise.resolve().then(act) : act();
          };
          setHookOwner(hook, `p${index}`);
          return hook;
        });
        const failing = outcomes.findIndex(({ fails }) => fails);
        if (failing === -1) return void (await callInOrder(hooks, [newCall()], "policy"));
        const error = await catchFailure(() => callInOrder(hooks, [newCall()], "policy"));
        expect(started).toEqual(outcomes.slice(0, failing + 1).map((_, index) => index));
        if (GatewayError.is(value)) expect(error).toBe(value);
        else {
          expect(error).toMatchObject({ code: "INTERNAL", data: { plugin: `p${failing}`, hook: "policy" } });
          expect(error.cause).toBe(value);
          expect(error.message).toBe(`The plugin "p${failing}" failed in its "policy" hook.`);
        }
      }),
    );
  });

  test("no hook starts for a call that is over", async () => {
    const call = newCall();
    const hook = vi.fn();
    settleCall(call, undefined);
    await callInOrder([hook], [call], "policy");
    expect(hook).not.toHaveBeenCalled();
  });

  test("no hook starts once the call is over while the one before was pending", async () => {
    const call = newCall();
    const pending = deferred();
    const hook = vi.fn();
    const running = callInOrder([() => pending.promise, hook], [call], "policy");
    settleCall(call, undefined);
    pending.resolve();
    await running;
    expect(hook).not.toHaveBeenCalled();
  });

  test("an upstream cannot keep its tool from the hooks by a field of the tool", async () => {
    const discovered: string[] = [];
    const gateway = await createGateway({
      plugins: [plugin("enrich", { "tool:discover": (tool) => void discovered.push(tool.name) })],
    });
    const hidden = { name: "hidden", inputSchema: {}, ended: true };
    await gateway.catalog.replace({ id: "s" }, [{ name: "plain", inputSchema: {} }, hidden]);
    expect(discovered).toEqual(["plain", "hidden"]);
  });

  test("errors name the right one of two plugins with one function", async () => {
    const shared = (): void => {
      throw new Error("broken");
    };
    const gateway = await createGateway({
      plugins: [listed, plugin("first", { policy: shared }), plugin("second", { policy: shared })],
    });
    expect((await gateway.run({ tool: "s:t" })).error?.data["plugin"]).toBe("first");
  });
});

describe("callNested", () => {
  test("the first hook is the outermost", async () => {
    const log: string[] = [];
    const layer = (name: string) => async (_call: unknown, next: unknown) => {
      log.push(`${name} in`);
      await (next as Next)();
      log.push(`${name} out`);
    };
    await runWrapped([layer("a"), layer("b"), () => void log.push("tool")]);
    expect(log).toEqual(["a in", "b in", "tool", "b out", "a out"]);
  });

  test("hooks that all answer at once cost no microtask", () => {
    const answer = (call: unknown): void => {
      (call as Call).result = textResult("x");
    };
    const call = newCall();
    const over = vi.fn();
    callNested([answer], [call, over as unknown as Next], "execute");
    expect(over.mock.calls).toEqual([[undefined]]);
    expect(call.result).toEqual(textResult("x"));
  });

  test("after the last hook the call is unanswered", async () => {
    const pass = (_call: unknown, next: unknown): Promise<void> => (next as Next)();
    expect((await catchFailure(() => runWrapped([]))).code).toBe("UNANSWERED");
    expect((await catchFailure(() => runWrapped([pass, pass]))).code).toBe("UNANSWERED");
  });

  test("`next` rejects and never throws, with what was thrown as it was thrown", async () => {
    for (const name of throwableNames) {
      for (const later of [false, true]) {
        const value = throwables[name]();
        const inner = (): void | Promise<void> => {
          if (later) return Promise.reject(value);
          throw value;
        };
        const seen: unknown[] = [];
        const outer = (_call: unknown, next: unknown): Promise<void> => {
          const promise = (next as Next)();
          expect(promise).toBeInstanceOf(Promise);
          return promise.catch((error: unknown) => void seen.push(error));
        };
        await runWrapped([outer, inner]);
        expect(seen).toEqual([value]);
        expect(seen[0]).toBe(value);
      }
    }
  });

  test("a hook may return a thenable, as in the other stages", async () => {
    const call = newCall();
    const lazy = (): Promise<void> => {
      const promise = Promise.resolve().then(() => {
        call.result = textResult("done");
      });
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
      return { then: promise.then.bind(promise) } as Promise<void>;
    };
    await runWrapped([lazy], call);
    expect(call.result).toEqual(textResult("done"));
  });

  test("an inner plugin stays the culprit when the outer ones pass the error on", async () => {
    const inner = (): Promise<void> => Promise.reject(new Error("broken"));
    const returns = (_call: unknown, next: unknown): Promise<void> => (next as Next)();
    const awaits = async (_call: unknown, next: unknown): Promise<void> => {
      await (next as Next)();
    };
    setHookOwner(inner, "inner");
    setHookOwner(returns, "outer");
    setHookOwner(awaits, "outer");
    for (const outer of [returns, awaits]) {
      const error = await catchFailure(() => runWrapped([outer, outer, inner]));
      expect(error.data).toEqual({ plugin: "inner", hook: "execute" });
    }
  });

  test("the resolved value of a hook is no failure", async () => {
    const odd = (): Promise<void> => Promise.resolve("fine") as unknown as Promise<void>;
    await expect(runWrapped([odd])).resolves.toBeUndefined();
  });

  test("`next` may be called again to retry", async () => {
    let attempts = 0;
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("retry", {
          async execute(_call, next) {
            for (let left = 2; ; left--) {
              try {
                return await next();
              } catch (error) {
                if (left === 0) throw error;
              }
            }
          },
        }),
        plugin("tool", {
          async execute(call) {
            if (++attempts < 3) throw new GatewayError("TIMEOUT", "Not yet.");
            call.result = textResult(`${attempts}`);
          },
        }),
      ],
    });
    expect((await gateway.run({ tool: "s:t" })).result).toEqual(textResult("3"));
  });

  test("a `next` that is not awaited and that fails later is no unhandled rejection", async () => {
    for (const name of throwableNames) {
      const pending = deferred();
      const codes: (string | undefined)[] = [];
      const seen = await collectUnhandled(async () => {
        const gateway = await createGateway({
          plugins: [
            listed,
            plugin("forget", {
              execute(call, next) {
                void next();
                call.result = textResult("done");
              },
            }),
            plugin("pass", { execute: (_call, next) => next() }),
            plugin("tool", { execute: () => pending.promise }),
          ],
        });
        codes.push((await gateway.run({ tool: "s:t" })).error?.code);
        pending.reject(throwables[name]());
      });
      expect(seen).toEqual([]);
      expect(codes).toEqual([undefined]);
    }
  });

  test("a `next` that is not awaited and that fails at once is no unhandled rejection", async () => {
    const seen = await collectUnhandled(async () => {
      const forget = (_call: unknown, next: unknown): void => void (next as Next)();
      await runWrapped([forget]);
    });
    expect(seen).toEqual([]);
  });

  test("a hook that rejects after its call was cancelled is no unhandled rejection", async () => {
    const started = deferred();
    const pending = deferred();
    const abort = new AbortController();
    const seen = await collectUnhandled(async () => {
      const gateway = await createGateway({
        plugins: [
          listed,
          plugin("pass", { execute: async (_call, next) => await next() }),
          plugin("tool", {
            execute() {
              started.resolve();
              return pending.promise;
            },
          }),
        ],
      });
      const running = gateway.run({ tool: "s:t", signal: abort.signal });
      await started.promise;
      abort.abort();
      await running;
      pending.reject(new Error("late"));
    });
    expect(seen).toEqual([]);
  });

  test("`next` rejects once the call is over, and starts nothing", async () => {
    const tool = vi.fn();
    let next: Next | undefined;
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("keep", {
          execute(call, given) {
            next = given;
            call.result = textResult("done");
          },
        }),
        plugin("tool", { execute: tool }),
      ],
    });
    expect((await gateway.run({ tool: "s:t" })).ok).toBe(true);
    await expect(next?.()).rejects.toMatchObject({ name: "GatewayError", code: "CANCELLED" });
    const seen = await collectUnhandled(async () => void next?.());
    expect(seen).toEqual([]);
    expect(tool).not.toHaveBeenCalled();
  });

  test("`next` of a cancelled call rejects with the reason it was cancelled for", async () => {
    const reason = new GatewayError("TIMEOUT", "Too slow.");
    let next: Next | undefined;
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("keep", {
          execute(call, given) {
            next = given;
            call.cancel(reason);
          },
        }),
      ],
    });
    expect((await gateway.run({ tool: "s:t" })).error).toBe(reason);
    await expect(next?.()).rejects.toBe(reason);
  });
});

describe("createIsolatedCaller", () => {
  test("every hook runs with the arguments, whatever the others do, and each failure is told once", async () => {
    const spec = fc.record({
      fails: fc.boolean(),
      async: fc.boolean(),
      thrown: fc.constantFrom<Throwable>(...throwableNames),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(spec, { maxLength: 6 }), async (specs) => {
        const calls: unknown[][] = [];
        const errors: GatewayError[] = [];
        const hooks = specs.map(({ fails, async, thrown }, index) => {
          const act = (): void => {
            if (fails) throw throwables[thrown]();
          };
          const hook = (...args: unknown[]): void | Promise<void> => {
            calls.push([index, ...args]);
            return async ? Promise.resolve().then(act) : act();
          };
          setHookOwner(hook, `p${index}`);
          return hook;
        });
        await createIsolatedCaller((error) => void errors.push(error))(hooks, ["a", 1], "audit");
        expect(calls).toEqual(specs.map((_, index) => [index, "a", 1]));
        expect(errors).toHaveLength(specs.filter(({ fails }) => fails).length);
        for (const error of errors) expect(GatewayError.is(error)).toBe(true);
      }),
    );
  });

  test("hooks that return nothing cost no microtask", () => {
    expect(createIsolatedCaller(() => {})([() => {}], [], "error")).toBeUndefined();
  });

  test("it waits for the slowest hook, also when another fails", async () => {
    const slow = deferred();
    let over = false;
    const hooks = [() => slow.promise, () => Promise.reject(new Error("broken"))];
    const running = Promise.resolve(createIsolatedCaller(() => {})(hooks, [], "audit")).then(() => {
      over = true;
    });
    await quiet();
    expect(over).toBe(false);
    slow.resolve();
    await running;
  });
});
