import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  Call,
  createGateway,
  definePlugin,
  type Gateway,
  GatewayError,
  type Hooks,
  localTools,
  type Plugin,
  type SettledCall,
  textResult,
} from "../../core/mod.ts";
import {
  collectUnhandled,
  type Deferred,
  deferred,
  hang,
  listed,
  plugin,
  quiet,
  type Throwable,
  throwableNames,
  throwables,
} from "../support/hooks.ts";

afterEach(() => {
  vi.useRealTimers();
});

async function catchFailure(creating: Promise<unknown>): Promise<GatewayError> {
  return creating.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: GatewayError) => error,
  );
}

describe("set-up", () => {
  test("a gateway of nothing works", async () => {
    const gateway = await createGateway();
    expect(gateway.plugins).toEqual([]);
    expect(gateway.tools).toEqual([]);
    expect((await gateway.run({ tool: "s:t" })).error?.code).toBe("TOOL_NOT_FOUND");
    await gateway.close();
  });

  test("start hooks run once all plugins are ready, and see the tools of plugins behind them", async () => {
    const seen: number[] = [];
    const checking: Plugin = {
      name: "checking",
      setup: (gateway) => ({ start: () => void seen.push(gateway.catalog.tools().length) }),
    };
    const late = localTools("late", { id: "late" }, [
      { name: "tool", inputSchema: { type: "object" }, run: () => textResult("ok") },
    ]);
    const gateway = await createGateway({ plugins: [checking, late] });
    expect(seen).toEqual([1]);
    await gateway.close();
  });

  test("a start hook that throws refuses the start and closes the plugins", async () => {
    const closed = vi.fn();
    const refusing: Plugin = {
      name: "refusing",
      setup: () => ({
        start() {
          throw new GatewayError("CONFIG_INVALID", "No.");
        },
        close: closed,
      }),
    };
    expect((await catchFailure(createGateway({ plugins: [refusing] }))).message).toBe("No.");
    expect(closed).toHaveBeenCalledOnce();
  });

  test("plugins are set up one after another, then all are ready, then the gateway is there", async () => {
    const log: string[] = [];
    const slow = (name: string): Plugin => ({
      name,
      async setup() {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} is set up`);
        return { ready: () => void log.push(`${name} is ready`) };
      },
    });
    await createGateway({ plugins: [slow("a"), slow("b")] });
    expect(log).toEqual(["a begins", "a is set up", "b begins", "b is set up", "a is ready", "b is ready"]);
  });

  test("a failure closes what was set up, the last first, whatever fails and however it fails", async () => {
    const failures = ["throws", "rejects", "has an unknown hook", "has no function", "is not ready"] as const;
    const spec = fc.record({ closes: fc.constantFrom("well", "badly", "late"), waits: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(spec, { minLength: 1, maxLength: 5 }),
        fc.nat(4),
        fc.constantFrom(...failures),
        fc.constantFrom<Throwable>(...throwableNames),
        async (specs, position, failure, thrown) => {
          const log: string[] = [];
          const failing = position % specs.length;
          const value = throwables[thrown]();
          const plugins = specs.map(({ closes, waits }, index): Plugin => {
            const name = `p${index}`;
            const close = (): void | Promise<void> => {
              log.push(`close ${name}`);
              if (closes === "badly") throw new Error("It did not close.");
              if (closes === "late") return Promise.resolve().then(() => void log.push(`closed ${name}`));
            };
            const hooks = (): Partial<Hooks> => {
              if (index !== failing) return { close };
              if (failure === "throws") throw value;
              if (failure === "has an unknown hook") return { close, plociy() {} } as Partial<Hooks>;
              if (failure === "has no function") return { close, policy: "yes" } as unknown as Partial<Hooks>;
              return failure === "is not ready" ? { close, ready: () => Promise.reject(value) } : { close };
            };
            return {
              name,
              setup() {
                log.push(`open ${name}`);
                if (index === failing && failure === "rejects") return Promise.reject(value);
                return waits ? Promise.resolve().then(hooks) : hooks();
              },
            };
          });
          const error = await catchFailure(createGateway({ plugins }));
          const opened = failure === "is not ready" ? specs.length : failing + 1;
          const closing = failure === "throws" || failure === "rejects" ? failing : opened;
          expect(log).toEqual([
            ...Array.from({ length: opened }, (_, index) => `open p${index}`),
            ...Array.from({ length: closing }, (_, index) => index)
              .reverse()
              .flatMap((index) =>
                specs[index]?.closes === "late"
                  ? [`close p${index}`, `closed p${index}`]
                  : [`close p${index}`],
              ),
          ]);
          expect(GatewayError.is(error)).toBe(true);
          if (failure.startsWith("has")) expect(error.code).toBe("PLUGIN_INVALID");
          else if (GatewayError.is(value)) expect(error).toBe(value);
          else {
            expect(error.code).toBe(failure === "is not ready" ? "INTERNAL" : "PLUGIN_FAILED");
            expect(error.cause).toBe(value);
          }
          expect(error.code === "DENIED" || error.message.includes(`"p${failing}"`)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("an error of a plugin's setup stays in the cause", async () => {
    const broken: Plugin = {
      name: "broken",
      setup() {
        throw new Error("connect postgres://admin:secret@db failed");
      },
    };
    expect((await catchFailure(createGateway({ plugins: [broken] }))).message).not.toContain("secret");
  });

  test("a hook that does not exist gets a hint where one is near", async () => {
    const withHook = (name: string): Promise<GatewayError> =>
      catchFailure(createGateway({ plugins: [plugin("typo", { [name]: () => {} })] }));
    expect((await withHook("excute")).message).toBe(
      'The plugin "typo" has a hook "excute", which does not exist; did you mean "execute"?',
    );
    expect((await withHook("tool:discovered")).message).toContain('did you mean "tool:discover"?');
    expect((await withHook("elephant")).message).toBe(
      'The plugin "typo" has a hook "elephant", which does not exist.',
    );
    for (const name of ["__proto__x", "constructor", "toString"]) {
      expect((await withHook(name)).code).toBe("PLUGIN_INVALID");
    }
  });

  test("refuses values that are no plugin before any setup", async () => {
    const setup = vi.fn();
    const factory = definePlugin({ name: "forgotten", setup: () => {} });
    for (const wrong of [null, undefined, "cache", 5, {}, [], factory]) {
      const plugins = [{ name: "first", setup }, wrong as Plugin];
      const error = await catchFailure(createGateway({ plugins }));
      expect(error.code).toBe("PLUGIN_INVALID");
      if (wrong === factory) expect(error.message).toContain("Was it meant to be called?");
    }
    expect(setup).not.toHaveBeenCalled();
  });

  test("refuses any value that is no plugin", async () => {
    const wrong = Object.create(null) as Plugin;
    expect((await catchFailure(createGateway({ plugins: [wrong] }))).code).toBe("PLUGIN_INVALID");
  });

  test("hooks that return nothing are fine", async () => {
    const none: Plugin = { name: "none", setup() {} };
    const nullish = { name: "nullish", setup: () => null } as unknown as Plugin;
    expect((await createGateway({ plugins: [none, nullish] })).plugins).toEqual(["none", "nullish"]);
  });

  test("plugins find what others offer", async () => {
    const seen: unknown[] = [];
    const gateway = await createGateway({
      plugins: [
        { name: "asks", uses: ["clock"], setup: (gateway) => void seen.push({ ...gateway.services }) },
        {
          name: "offers",
          provides: ["clock"],
          setup: (gateway) => gateway.provide("clock" as never, "tick" as never),
        },
      ],
    });
    expect(seen).toEqual([{ clock: "tick" }]);
    expect((await createGateway()).services).not.toBe(gateway.services);
  });
});

describe("report", () => {
  test("every error hook hears of it, and one that fails is heard of nowhere", async () => {
    const heard = vi.fn();
    const error = new GatewayError("INTERNAL", "The file is gone.");
    const gateway = await createGateway({
      plugins: [
        plugin("throws", {
          error() {
            throw new Error("broken");
          },
        }),
        plugin("rejects", { error: () => Promise.reject(new Error("broken")) }),
        plugin("listens", { error: heard }),
      ],
    });
    expect(await collectUnhandled(async () => gateway.report(error))).toEqual([]);
    expect(heard.mock.calls).toEqual([[error]]);
  });
});

/** A gateway with one tool, `s:t`, that answers when the test releases it, and a log of what happens. */
async function slowGateway(): Promise<{
  gateway: Gateway;
  log: string[];
  started: Deferred<void>;
  finish: Deferred<void>;
}> {
  const log: string[] = [];
  const started = deferred();
  const finish = deferred();
  const gateway = await createGateway({
    plugins: [
      plugin("first", {
        audit: ({ error }) => void log.push(`audit ${error?.code ?? "ok"}`),
        close: () => void log.push("close first"),
      }),
      listed,
      plugin("tool", {
        async execute(call) {
          started.resolve();
          await finish.promise;
          call.result = textResult("done");
        },
        close: () => void log.push("close tool"),
      }),
    ],
  });
  return { gateway, log, started, finish };
}

describe("close", () => {
  test("calls on their way finish and are audited, then the plugins close, the last first", async () => {
    const { gateway, log, started, finish } = await slowGateway();
    const running = gateway.run({ tool: "s:t" });
    await started.promise;
    const closing = gateway.close();
    await quiet();
    expect(log).toEqual([]);
    finish.resolve();
    await closing;
    expect(log).toEqual(["audit ok", "close tool", "close first"]);
    expect((await running).ok).toBe(true);
  });

  test("calls that are not done after `drainMs` are cancelled with CLOSED, and audited before the plugins close", async () => {
    const { gateway, log, started } = await slowGateway();
    const running = gateway.run({ tool: "s:t" });
    await started.promise;
    vi.useFakeTimers();
    const closing = gateway.close({ drainMs: 1_000 });
    await vi.advanceTimersByTimeAsync(999);
    expect(log).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await closing;
    expect(log).toEqual(["audit CLOSED", "close tool", "close first"]);
    expect((await running).error?.code).toBe("CLOSED");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("it waits thirty seconds where nothing else is said", async () => {
    const { gateway, log, started } = await slowGateway();
    void gateway.run({ tool: "s:t" });
    await started.promise;
    vi.useFakeTimers();
    const closing = gateway.close();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(log).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await closing;
    expect(log[0]).toBe("audit CLOSED");
  });

  test("waits forever if configured", async () => {
    const { gateway, log, started, finish } = await slowGateway();
    void gateway.run({ tool: "s:t" });
    await started.promise;
    vi.useFakeTimers();
    const closing = gateway.close({ drainMs: Number.POSITIVE_INFINITY });
    await vi.advanceTimersByTimeAsync(60_000);
    finish.resolve();
    await closing;
    expect(log[0]).toBe("audit ok");
  });

  test("leaves no timer behind without pending calls", async () => {
    const { gateway, log } = await slowGateway();
    vi.useFakeTimers();
    await gateway.close();
    expect(log).toEqual(["close tool", "close first"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("closing again changes nothing, before and after it is done", async () => {
    const { gateway, log } = await slowGateway();
    const both = [gateway.close(), gateway.close({ drainMs: 0 })];
    await Promise.all(both);
    await gateway.close();
    expect(log).toEqual(["close tool", "close first"]);
  });

  test("a plugin that fails to close is reported and does not keep the others open", async () => {
    for (const name of throwableNames) {
      const log: string[] = [];
      const value = throwables[name]();
      const gateway = await createGateway({
        plugins: [
          plugin("first", {
            close: () => void log.push("close first"),
            error: (error) => void log.push(`error ${error.data["plugin"] ?? error.code}`),
          }),
          plugin("rejects", { close: () => Promise.reject(value) }),
          plugin("throws", {
            close() {
              throw value;
            },
          }),
        ],
      });
      await gateway.close();
      expect(log).toEqual(
        GatewayError.is(value)
          ? ["error DENIED", "error DENIED", "close first"]
          : ["error throws", "error rejects", "close first"],
      );
    }
  });

  test("plugins close in the opposite order of their set-up, not of their hooks", async () => {
    const log: string[] = [];
    const named = (name: string, order?: "pre" | "post", uses: string[] = []): Plugin =>
      plugin(name, { close: () => void log.push(name) }, { order, uses, provides: [name] });
    const gateway = await createGateway({
      plugins: [named("a", "post"), named("b", undefined, ["c?"]), named("c", "pre")],
    });
    await gateway.close();
    expect(log).toEqual(["b", "c", "a"]);
  });

  test("a call after closing has begun settles with CLOSED, starts no hook, and is audited", async () => {
    const hook = vi.fn();
    const audited: SettledCall[] = [];
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("watch", {
          resolve: hook,
          policy: hook,
          validate: hook,
          execute: hook,
          audit: (settled) => void audited.push(settled),
        }),
      ],
    });
    const closing = gateway.close();
    const during = await gateway.run({ tool: "s:t" });
    await closing;
    const after = await gateway.run({ tool: "s:t", signal: new AbortController().signal });
    expect([during, after].map(({ error }) => error?.code)).toEqual(["CLOSED", "CLOSED"]);
    expect(audited).toEqual([during, after]);
    expect(hook).not.toHaveBeenCalled();
  });

  test("a call that is let finish may still make the calls it needs", async () => {
    const started = deferred();
    const go = deferred();
    const gateway = await createGateway({
      plugins: [
        localTools("tools", { id: "s" }, [
          {
            name: "outer",
            inputSchema: {},
            async run(_args, { gateway, call }) {
              started.resolve();
              await go.promise;
              const inner = await gateway.run({ tool: "s:inner", parent: call });
              return inner.result ?? textResult(String(inner.error?.code));
            },
          },
          { name: "inner", inputSchema: {}, run: () => textResult("inner") },
        ]),
      ],
    });
    const running = gateway.run({ tool: "s:outer" });
    await started.promise;
    const closing = gateway.close();
    expect((await gateway.run({ tool: "s:inner" })).error?.code).toBe("CLOSED");
    go.resolve();
    await closing;
    expect((await running).result).toEqual(textResult("inner"));
  });

  test("a call whose parent is over is refused like any other", async () => {
    const parents: Call[] = [];
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("tool", {
          execute(call) {
            parents.push(call);
            call.result = textResult("done");
          },
        }),
      ],
    });
    await gateway.run({ tool: "s:t" });
    await gateway.close();
    expect((await gateway.run({ tool: "s:t", parent: parents[0] as Call })).error?.code).toBe("CLOSED");
  });

  test("a call for a call of another gateway is refused once this one is closed", async () => {
    const tool = vi.fn();
    const gateway = await createGateway({ plugins: [listed, plugin("tool", { execute: tool })] });
    await gateway.close();
    const settled = await gateway.run({ tool: "s:t", parent: new Call({ tool: "elsewhere:t" }) });
    expect(tool).not.toHaveBeenCalled();
    expect(settled.error?.code).toBe("CLOSED");
  });

  test("a call that hangs with everything it called is cancelled as a whole", async () => {
    const started = deferred();
    const codes: (string | undefined)[] = [];
    const gateway = await createGateway({
      plugins: [
        plugin("watch", { audit: ({ error }) => void codes.push(error?.code) }),
        localTools("tools", { id: "s" }, [
          {
            name: "outer",
            inputSchema: {},
            async run(_args, { gateway, call }) {
              // A signal of its own, so that nothing of it follows the outer call.
              await gateway.run({ tool: "s:inner", parent: call, signal: new AbortController().signal });
              return hang();
            },
          },
          {
            name: "inner",
            inputSchema: {},
            run() {
              started.resolve();
              return hang();
            },
          },
        ]),
      ],
    });
    void gateway.run({ tool: "s:outer" });
    await started.promise;
    await gateway.close({ drainMs: 0 });
    expect(codes).toEqual(["CLOSED", "CLOSED"]);
  });

  test("a slow observer of a cancelled call is waited for before its plugin closes", async () => {
    const log: string[] = [];
    const audited = deferred();
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("tool", { execute: hang }),
        plugin("sink", {
          async audit() {
            await audited.promise;
            log.push("written");
          },
          close: () => void log.push("closed"),
        }),
      ],
    });
    void gateway.run({ tool: "s:t" });
    const closing = gateway.close({ drainMs: 0 });
    await quiet();
    expect(log).toEqual([]);
    audited.resolve();
    await closing;
    expect(log).toEqual(["written", "closed"]);
  });

  test("a gateway that is closed during its set-up leaves nothing open", async () => {
    const open = new Set<string>();
    const opens = (name: string, also?: (gateway: Gateway) => void): Plugin => ({
      name,
      setup(gateway) {
        open.add(name);
        also?.(gateway);
        return { close: () => void open.delete(name) };
      },
    });
    let closing: Promise<void> | undefined;
    const plugins = [
      opens("a", (gateway) => {
        closing = gateway.close();
      }),
      opens("b"),
    ];
    await createGateway({ plugins }).catch(() => {});
    await closing;
    expect([...open]).toEqual([]);
  });

  /** Three plugins, the second of which closes the gateway in one of its two steps; what they did, and how it ended. */
  async function closeWithin(
    step: "setup" | "ready",
    fails = false,
  ): Promise<{ log: string[]; outcome: unknown }> {
    const log: string[] = [];
    let closing: Promise<void> | undefined;
    const plugins = ["a", "b", "c"].map((name): Plugin => {
      const act = (at: "setup" | "ready", gateway: Gateway): void => {
        log.push(`${at} ${name}`);
        if (name !== "b" || at !== step) return;
        closing = gateway.close();
        if (fails) throw new Error("broken");
      };
      return {
        name,
        setup(gateway) {
          act("setup", gateway);
          return { ready: () => act("ready", gateway), close: () => void log.push(`close ${name}`) };
        },
      };
    });
    const outcome = await createGateway({ plugins }).then(
      () => "made",
      (error: GatewayError) => error.code,
    );
    await closing;
    await quiet();
    return { log, outcome };
  }

  test("a gateway that is closed during its set-up is not made, and sets up no further plugin", async () => {
    const { log, outcome } = await closeWithin("setup");
    expect(outcome).toBe("CLOSED");
    expect(log.filter((entry) => entry.startsWith("setup"))).toEqual(["setup a", "setup b"]);
    expect(log.filter((entry) => entry.startsWith("ready"))).toEqual([]);
  });

  test("a gateway that is closed during its set-up closes each plugin once, the last first", async () => {
    const { log } = await closeWithin("setup");
    expect(log).toEqual(["setup a", "setup b", "close b", "close a"]);
  });

  test("a gateway that is closed in a `ready` that fails closes each plugin once", async () => {
    const { log } = await closeWithin("ready", true);
    expect(log.slice(-3)).toEqual(["close c", "close b", "close a"]);
    expect(log.filter((entry) => entry.startsWith("close"))).toHaveLength(3);
  });

  test("no plugin becomes ready once the gateway is closed", async () => {
    const { log, outcome } = await closeWithin("ready");
    expect(log).not.toContain("ready c");
    expect(outcome).toBe("CLOSED");
  });

  test("errors name the right one of two plugins with one `close` function", async () => {
    const blamed: unknown[] = [];
    const close = (): void => {
      throw new Error("broken");
    };
    const gateway = await createGateway({
      plugins: [
        plugin("watch", { error: (error) => void blamed.push(error.data["plugin"]) }),
        plugin("first", { close }),
        plugin("second", { close }),
      ],
    });
    await gateway.close();
    expect(blamed).toEqual(["second", "first"]);
  });
});
