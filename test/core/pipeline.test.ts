import { setImmediate } from "node:timers";
import fc from "fast-check";
import { createHooks } from "hookable";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createCatalog } from "../../core/catalog.ts";
import type { Hooks } from "../../core/hooks.ts";
import {
  type Call,
  createGateway,
  GatewayError,
  localTools,
  type SettledCall,
  textResult,
} from "../../core/mod.ts";
import { createPipeline } from "../../core/pipeline.ts";
import { deferred, hang, listed, plugin, quiet, throwableNames, throwables } from "../support/hooks.ts";
import { build, expected, specs, type Witness } from "./_model.ts";

const stages = ["resolve", "policy", "validate", "execute"] as const;
const answer = plugin("answer", {
  execute(call) {
    call.result = textResult("done");
  },
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the stages", () => {
  test("a call runs through the five stages in order", async () => {
    const seen: string[] = [];
    const gateway = await createGateway({
      plugins: [
        localTools("echo", { id: "echo" }, [
          { name: "say", inputSchema: { type: "object" }, run: ({ text }) => textResult(String(text)) },
        ]),
        {
          name: "watch",
          setup: () => ({
            resolve: (call) => void seen.push(`resolve ${call.tool?.id}`),
            policy: (call) => void seen.push(`policy ${call.tool?.id}`),
            validate: () => void seen.push("validate"),
            execute: async (_call, next) => {
              seen.push("execute");
              await next();
            },
            audit: () => void seen.push("audit"),
          }),
        },
      ],
    });
    const call = await gateway.run({ tool: "echo:say", args: { text: "hi" } });
    expect(call.ok && call.result.content[0]).toEqual({ type: "text", text: "hi" });
    expect(seen).toEqual(["resolve undefined", "policy echo:say", "validate", "execute", "audit"]);
  });

  test("whatever the plugins do, the right hooks start once and in order, and audit sees the right end", async () => {
    await fc.assert(
      fc.asyncProperty(specs, async (plugins) => {
        const reports: GatewayError[] = [];
        const audited: SettledCall[] = [];
        const abort = new AbortController();
        const witness: Witness = { log: [], thrown: new Map(), onHang: () => void setImmediate(cancel) };
        function cancel(): void {
          abort.abort("enough");
        }
        const gateway = await createGateway({
          plugins: [
            listed,
            plugin("reports", { error: (error) => void reports.push(error) }, { order: "pre" }),
            ...build(plugins, witness),
            plugin("last", { audit: (settled) => void audited.push(settled) }, { order: "post" }),
          ],
        });
        const settled = await gateway.run({ tool: "s:t", signal: abort.signal });
        await quiet();

        const { log, stage, outcome } = expected(plugins);
        expect(witness.log).toEqual(log);
        expect(audited).toEqual([settled]);
        expect(settled.stage).toBe(stage);
        if (outcome.how === "answered") {
          expect(settled).toMatchObject({ ok: true, error: undefined, via: outcome.via });
          expect(settled.result).toEqual(textResult(outcome.via));
        } else {
          expect(settled).toMatchObject({ ok: false, result: undefined });
        }
        if (outcome.how === "unanswered") expect(settled.error?.code).toBe("UNANSWERED");
        if (outcome.how === "hung")
          expect(settled.error).toMatchObject({ code: "CANCELLED", cause: "enough" });
        if (outcome.how === "threw") {
          checkBlame(settled.error, witness, outcome.hook, outcome.plugin);
        }
        const failing = plugins.flatMap((spec, index) => (spec.audit?.act === "throw" ? [`p${index}`] : []));
        expect(reports).toHaveLength(failing.length);
        for (const name of failing) {
          const value = witness.thrown.get(`audit ${name}`);
          if (!GatewayError.is(value)) {
            const report = reports.find((error) => error.data["plugin"] === name);
            checkBlame(report, witness, "audit", name);
          } else expect(reports).toContain(value);
        }
      }),
      { numRuns: 400 },
    );

    function checkBlame(error: unknown, witness: Witness, hook: string, name: string): void {
      const value = witness.thrown.get(`${hook} ${name}`);
      if (GatewayError.is(value)) {
        expect(error).toBe(value);
        return;
      }
      expect(error).toMatchObject({ code: "INTERNAL", data: { hook } });
      // Two plugins may throw the same nothing; then the first of them is blamed, for want of a difference.
      if (value !== undefined && value !== null) expect((error as GatewayError).data["plugin"]).toBe(name);
      expect((error as GatewayError).cause).toBe(value);
      expect(JSON.stringify(error)).not.toContain("secret");
    }
  });

  test("whatever happens in whatever order, audit runs once and no hook starts or is heard after it", async () => {
    const act = fc.constantFrom(
      ...(["pass", "answer", "throw", "hang", "cancel", "forget", "twice", "late", "report late"] as const),
    );
    const layer = fc.record({ act, thrown: fc.constantFrom(...throwableNames), wait: fc.boolean() });
    const plan = fc.array(fc.record({ stage: fc.constantFrom(...stages), layer }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(plan, fc.scheduler(), async (hooks, scheduler) => {
        const log: string[] = [];
        const abort = new AbortController();
        const plugins = hooks.map(({ stage, layer: { act, thrown, wait } }, index) => {
          const later = (): Promise<unknown> => scheduler.schedule(Promise.resolve(), `${stage} ${index}`);
          const doIt = (call: Call, next: () => Promise<void>): void | Promise<void> => {
            if (act === "answer") call.result = textResult(`${index}`);
            if (act === "throw") throw throwables[thrown]();
            if (act === "hang") return hang();
            if (act === "cancel") call.cancel(new GatewayError("TIMEOUT", "Too slow."));
            if (act === "forget") void next();
            if (act === "twice") return Promise.all([next(), next()]).then(() => {});
            if (act === "late") void later().then(() => void next());
            if (act === "report late") void later().then(() => call.report({ progress: index }));
            return next();
          };
          return plugin(`p${index}`, {
            [stage]: (call: Call, next = (): Promise<void> => Promise.resolve()) => {
              log.push("hook");
              return wait ? later().then(() => doIt(call, next)) : doIt(call, next);
            },
          });
        });
        const gateway = await createGateway({
          plugins: [listed, ...plugins, answer, plugin("watch", { audit: () => void log.push("audit") })],
        });
        const running = gateway.run({
          tool: "s:t",
          signal: abort.signal,
          onProgress: () => void log.push("progress"),
        });
        void scheduler.schedule(Promise.resolve(), "abort").then(() => abort.abort());
        const settled = await scheduler.waitFor(running);
        expect(settled.ok).toBe(settled.error === undefined);
        expect(settled.ok).toBe(settled.result !== undefined);
        await scheduler.waitIdle();
        expect(log.filter((entry) => entry === "audit")).toHaveLength(1);
        expect(log.at(-1)).toBe("audit");
      }),
      { numRuns: 400 },
    );
  });

  test("an error beats a result", async () => {
    const denied = new GatewayError("DENIED", "Too late.");
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("strict", {
          async execute(_call, next) {
            await next();
            throw denied;
          },
        }),
        answer,
      ],
    });
    const settled = await gateway.run({ tool: "s:t" });
    expect(settled).toMatchObject({ ok: false, result: undefined, stage: "execute" });
    expect(settled.error).toBe(denied);
  });

  test("a hook that answers without `next` is named in `via`, and no inner hook starts", async () => {
    const inner = vi.fn();
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("cache", {
          execute(call) {
            call.result = textResult("cached");
            call.via = "cache";
          },
        }),
        plugin("inner", { execute: inner }),
      ],
    });
    expect(await gateway.run({ tool: "s:t" })).toMatchObject({ ok: true, via: "cache" });
    expect(inner).not.toHaveBeenCalled();
  });

  test("a call that the tool itself answers has no `via`", async () => {
    const gateway = await createGateway({ plugins: [listed, answer] });
    expect(await gateway.run({ tool: "s:t" })).toMatchObject({ ok: true, via: undefined });
  });

  test("a call without an answer ends with UNANSWERED", async () => {
    const unanswered = await createGateway({ plugins: [listed] });
    expect((await unanswered.run({ tool: "s:t" })).error?.code).toBe("UNANSWERED");
    const silent = await createGateway({ plugins: [listed, plugin("silent", { execute() {} })] });
    expect((await silent.run({ tool: "s:t" })).error?.code).toBe("UNANSWERED");
  });

  test("a resolve hook may bind a tool that the catalog does not have", async () => {
    const tool = {
      id: "x:y",
      server: "x",
      name: "y",
      inputSchema: {},
      tags: [],
      enabled: true,
      builtin: false,
    };
    const bind = plugin("bind", {
      resolve(call) {
        call.tool = tool;
      },
    });
    const gateway = await createGateway({ plugins: [bind, answer] });
    expect(await gateway.run({ tool: "alias" })).toMatchObject({ ok: true, toolId: "alias", tool });
  });

  test("a validate hook replaces the arguments for those that follow", async () => {
    const seen: unknown[] = [];
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("defaults", {
          validate(call) {
            call.args = { ...call.args, limit: 10 };
          },
        }),
        plugin("watch", {
          execute: (call, next) => {
            seen.push(call.args);
            return next();
          },
        }),
        answer,
      ],
    });
    const given = { query: "x" };
    const settled = await gateway.run({ tool: "s:t", args: given });
    expect(seen).toEqual([{ query: "x", limit: 10 }]);
    expect(settled.args).toEqual({ query: "x", limit: 10 });
    expect(given).toEqual({ query: "x" });
  });
});

describe("audit", () => {
  test("it sees what the caller gets", async () => {
    const audited: SettledCall[] = [];
    const watch = plugin("watch", { audit: (settled) => void audited.push(settled) });
    const gateway = await createGateway({ plugins: [listed, answer, watch] });
    const settled = await gateway.run({ tool: "s:t" });
    expect(audited).toEqual([settled]);
    expect(settled.durationMs).toBeGreaterThanOrEqual(0);
    expect(Math.abs(settled.startedAt - Date.now())).toBeLessThan(60_000);
  });

  test("an observer cannot change the settled call", async () => {
    const forge = plugin("forge", {
      audit(settled) {
        Object.assign(settled, { ok: false, result: undefined, error: new Error("forged") });
      },
    });
    const gateway = await createGateway({ plugins: [listed, answer, forge] });
    expect(await gateway.run({ tool: "s:t" })).toMatchObject({ ok: true, error: undefined });
  });

  test("a slow observer holds the answer for five seconds and no longer, and is reported", async () => {
    const reports: GatewayError[] = [];
    const slow = plugin("slow", { audit: hang, error: (error) => void reports.push(error) });
    const gateway = await createGateway({ plugins: [listed, answer, slow] });
    vi.useFakeTimers();
    let settled: SettledCall | undefined;
    const running = gateway.run({ tool: "s:t" }).then((call) => {
      settled = call;
    });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(settled).toBeUndefined();
    expect(reports).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await running;
    expect(settled).toMatchObject({ ok: true });
    expect(reports.map((error) => error.code)).toEqual(["TIMEOUT"]);
  });

  test("an observer that finishes in time leaves no timer behind", async () => {
    const watch = plugin("watch", { audit: () => Promise.resolve() });
    const gateway = await createGateway({ plugins: [listed, answer, watch] });
    vi.useFakeTimers();
    await gateway.run({ tool: "s:t" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("cancellation", () => {
  test("a call whose signal is aborted beforehand starts no hook but audit", async () => {
    const hook = vi.fn();
    const audit = vi.fn();
    const every = plugin("every", { resolve: hook, policy: hook, validate: hook, execute: hook, audit });
    const gateway = await createGateway({ plugins: [listed, every] });
    const settled = await gateway.run({ tool: "s:t", signal: AbortSignal.abort("gone") });
    expect(settled.error).toMatchObject({ code: "CANCELLED", cause: "gone" });
    expect(settled.stage).toBe("resolve");
    expect(hook).not.toHaveBeenCalled();
    expect(audit).toHaveBeenCalledTimes(1);
  });

  for (const stage of stages) {
    for (const ending of ["resolves", "rejects", "hangs"] as const) {
      test(`an abort during ${stage} ends the call at once, and no hook starts when the pending one ${ending}`, async () => {
        const started = deferred();
        const pending = deferred();
        const later = vi.fn();
        const audit = vi.fn();
        const abort = new AbortController();
        const first = plugin("first", {
          [stage]: (_call: Call, next = (): void => {}) => {
            started.resolve();
            return pending.promise.then(() => next());
          },
        });
        const rest = plugin("rest", {
          [stage]: later,
          ...(stage === "execute" ? {} : { execute: later }),
          audit,
        });
        const gateway = await createGateway({ plugins: [listed, first, rest] });
        const running = gateway.run({ tool: "s:t", signal: abort.signal });
        await started.promise;
        abort.abort();
        const settled = await running;
        expect(settled.error?.code).toBe("CANCELLED");
        expect(settled.stage).toBe(stage);
        if (ending === "resolves") pending.resolve();
        if (ending === "rejects") pending.reject(new Error("late"));
        await quiet();
        expect(later).not.toHaveBeenCalled();
        expect(audit).toHaveBeenCalledTimes(1);
      });
    }
  }

  test("an abort with a GatewayError ends the call with that error", async () => {
    const reason = new GatewayError("TIMEOUT", "The client waited long enough.");
    const gateway = await createGateway({ plugins: [listed, answer] });
    expect((await gateway.run({ tool: "s:t", signal: AbortSignal.abort(reason) })).error).toBe(reason);
  });

  test("an abort after the call has settled changes nothing, and the signal is let go of", async () => {
    const abort = new AbortController();
    const add = vi.spyOn(abort.signal, "addEventListener");
    const remove = vi.spyOn(abort.signal, "removeEventListener");
    const gateway = await createGateway({ plugins: [listed, answer] });
    const settled = await gateway.run({ tool: "s:t", signal: abort.signal });
    expect(remove.mock.calls.map(([name, listener]) => [name, listener])).toEqual(
      add.mock.calls.map(([name, listener]) => [name, listener]),
    );
    abort.abort();
    await quiet();
    expect(settled.ok).toBe(true);
  });

  test("a timeout is audited once, and what the tool answers later is lost", async () => {
    const audit = vi.fn();
    const late = deferred();
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("limit", {
          execute(call, next) {
            setTimeout(() => call.cancel(new GatewayError("TIMEOUT", "Too slow.")), 100);
            return next();
          },
          audit,
        }),
        plugin("slow", {
          async execute(call) {
            await late.promise;
            call.result = textResult("late");
          },
        }),
      ],
    });
    vi.useFakeTimers();
    const running = gateway.run({ tool: "s:t" });
    await vi.advanceTimersByTimeAsync(100);
    const settled = await running;
    late.resolve();
    vi.useRealTimers();
    await quiet();
    expect(settled).toMatchObject({ ok: false, result: undefined, error: { code: "TIMEOUT" } });
    expect(audit).toHaveBeenCalledTimes(1);
  });

  test("a cancelled call cancels the call it made", async () => {
    const codes: (string | undefined)[] = [];
    const started = deferred();
    const abort = new AbortController();
    const gateway = await createGateway({
      plugins: [
        localTools("tools", { id: "s" }, [
          {
            name: "outer",
            inputSchema: {},
            async run(_args, { gateway, call }) {
              codes.push((await gateway.run({ tool: "s:inner", parent: call })).error?.code);
              return textResult("unreachable");
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
        plugin("watch", { audit: (settled) => void codes.push(`audit ${settled.toolId}`) }),
      ],
    });
    const running = gateway.run({ tool: "s:outer", signal: abort.signal });
    await started.promise;
    abort.abort();
    expect((await running).error?.code).toBe("CANCELLED");
    await quiet();
    expect(codes.toSorted()).toEqual(["CANCELLED", "audit s:inner", "audit s:outer"]);
  });

  test("cancelling an inner call leaves the outer one alone", async () => {
    const abort = new AbortController();
    const gateway = await createGateway({
      plugins: [
        localTools("tools", { id: "s" }, [
          {
            name: "outer",
            inputSchema: {},
            async run(_args, { gateway, call }) {
              const inner = gateway.run({ tool: "s:inner", parent: call, signal: abort.signal });
              abort.abort();
              return textResult((await inner).error?.code ?? "none");
            },
          },
          { name: "inner", inputSchema: {}, run: hang },
        ]),
      ],
    });
    const settled = await gateway.run({ tool: "s:outer" });
    expect(settled.result).toEqual(textResult("CANCELLED"));
  });

  test("a hook that cancels the call is the last one of its stage to start", async () => {
    const later = vi.fn();
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("limit", { policy: (call) => call.cancel(new GatewayError("DENIED", "No.")) }),
        plugin("later", { policy: later }),
        answer,
      ],
    });
    expect((await gateway.run({ tool: "s:t" })).error?.code).toBe("DENIED");
    expect(later).not.toHaveBeenCalled();
  });

  test("a hook that the abort wakes up cannot start the tool any more", async () => {
    const tool = vi.fn();
    const waiting = deferred();
    const abort = new AbortController();
    const gateway = await createGateway({
      plugins: [
        listed,
        plugin("queue", {
          async execute(call, next) {
            await new Promise<void>((resolve) => {
              call.signal.addEventListener("abort", () => resolve());
              waiting.resolve();
            });
            await next();
          },
        }),
        plugin("tool", { execute: tool }),
      ],
    });
    const running = gateway.run({ tool: "s:t", signal: abort.signal });
    await waiting.promise;
    abort.abort();
    expect((await running).error?.code).toBe("CANCELLED");
    await quiet();
    expect(tool).not.toHaveBeenCalled();
  });
});

describe("bad input", () => {
  const deep = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = { a: value };
    return value;
  };
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const cases: [what: string, args: unknown, code: string][] = [
    ["an array", [], "INVALID_ARGUMENTS"],
    ["a string", "x", "INVALID_ARGUMENTS"],
    ["a number", 1, "INVALID_ARGUMENTS"],
    ["null", null, "INVALID_ARGUMENTS"],
    ["true", true, "INVALID_ARGUMENTS"],
    ["a function", () => {}, "INVALID_ARGUMENTS"],
    ["a symbol", Symbol("x"), "INVALID_ARGUMENTS"],
    ["a class instance", new Map(), "INVALID_ARGUMENTS"],
    ["a nested class instance", { at: new Date(0) }, "INVALID_ARGUMENTS"],
    ["NaN", { n: Number.NaN }, "INVALID_ARGUMENTS"],
    ["an infinite number", { n: [Number.NEGATIVE_INFINITY] }, "INVALID_ARGUMENTS"],
    ["a nested function", { f() {} }, "INVALID_ARGUMENTS"],
    ["a bigint", { n: 1n }, "INVALID_ARGUMENTS"],
    ["an own __proto__", JSON.parse('{"__proto__":{"polluted":true}}'), "FORBIDDEN_KEY"],
    ["a nested own __proto__", JSON.parse('{"a":[{"__proto__":{"polluted":true}}]}'), "FORBIDDEN_KEY"],
    ["constructor.prototype", { constructor: { prototype: { polluted: true } } }, "FORBIDDEN_KEY"],
    ["5,000 levels", deep(5_000), "ARGUMENTS_TOO_DEEP"],
    ["100,000 levels", deep(100_000), "ARGUMENTS_TOO_DEEP"],
    ["a cycle", cyclic, "ARGUMENTS_TOO_DEEP"],
    ["a long text", { text: "x".repeat(1_000_000) }, "ARGUMENTS_TOO_LARGE"],
    ["a long key", { ["x".repeat(1_000_000)]: 1 }, "ARGUMENTS_TOO_LARGE"],
    ["many values", { list: new Array(1_000_000).fill(0) }, "ARGUMENTS_TOO_LARGE"],
  ];

  for (const [what, args, code] of cases) {
    test(`arguments with ${what} end the call with ${code} before any hook, and are audited`, async () => {
      const hook = vi.fn();
      const audit = vi.fn();
      const every = plugin("every", { resolve: hook, policy: hook, validate: hook, execute: hook, audit });
      const gateway = await createGateway({ plugins: [listed, every] });
      const settled = await gateway.run({ tool: "s:t", args });
      expect(settled.error?.code).toBe(code);
      expect(settled.error?.message).toMatch(/^The .+\.$/);
      expect(settled.args).toEqual({});
      expect(hook).not.toHaveBeenCalled();
      expect(audit).toHaveBeenCalledTimes(1);
      expect(Object.keys(Object.prototype)).toEqual([]);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    });
  }

  test("a tool that is not there ends the call with TOOL_NOT_FOUND after resolve", async () => {
    const policy = vi.fn();
    const audit = vi.fn();
    const gateway = await createGateway({ plugins: [listed, plugin("watch", { policy, audit }), answer] });
    for (const tool of ["s:x", "x:t", "s", "t", "", ":", "s:", "__proto__", "constructor", "s:t "]) {
      const settled = await gateway.run({ tool });
      expect(settled.error).toMatchObject({ code: "TOOL_NOT_FOUND", data: { tool } });
      expect(settled.stage).toBe("resolve");
    }
    expect(policy).not.toHaveBeenCalled();
    expect(audit).toHaveBeenCalledTimes(10);
  });

  test("a tool id of the wrong type settles the call", async () => {
    const gateway = await createGateway({ plugins: [listed, answer] });
    for (const tool of [undefined, null, 5, {}, [], Symbol("s")]) {
      expect((await gateway.run({ tool: tool as string })).ok).toBe(false);
    }
  });

  test("a signal that is none, such as its controller, settles the call", async () => {
    const audit = vi.fn();
    const gateway = await createGateway({ plugins: [listed, answer, plugin("watch", { audit })] });
    const signal = new AbortController() as unknown as AbortSignal;
    expect((await gateway.run({ tool: "s:t", signal })).ok).toBe(false);
    expect(audit).toHaveBeenCalledTimes(1);
    await gateway.close();
  });

  test("a parent that is none, such as a settled call, settles the call", async () => {
    const audit = vi.fn();
    const gateway = await createGateway({ plugins: [listed, answer, plugin("watch", { audit })] });
    const parent = (await gateway.run({ tool: "s:t" })) as unknown as Call;
    expect((await gateway.run({ tool: "s:t", parent })).toolId).toBe("s:t");
    expect(audit).toHaveBeenCalledTimes(2);
  });

  test("arguments whose getter throws settle the call and do not reveal the thrown value", async () => {
    const gateway = await createGateway({ plugins: [listed, answer] });
    for (const name of throwableNames) {
      const args = {
        get token() {
          throw throwables[name]();
        },
      };
      const { error } = await gateway.run({ tool: "s:t", args });
      expect(error?.code).toBe(name === "gatewayError" ? "DENIED" : "INTERNAL");
      expect(JSON.stringify(error)).not.toContain("secret");
    }
  });

  test("whatever the arguments are, the call settles and Object.prototype stays as it is", async () => {
    const gateway = await createGateway({ plugins: [listed, answer] });
    const keys = Reflect.ownKeys(Object.prototype);
    await fc.assert(
      fc.asyncProperty(
        fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }),
        async (args) => {
          const settled = await gateway.run({ tool: "s:t", args });
          if (!settled.ok) expect(settled.error.kind.spec).toBe("TOOL_VALIDATION_ERROR");
          expect(Reflect.ownKeys(Object.prototype)).toEqual(keys);
        },
      ),
    );
  });

  test("missing arguments become an empty object, a new one for each call", async () => {
    const gateway = await createGateway({ plugins: [listed, answer] });
    const [one, two] = [await gateway.run({ tool: "s:t" }), await gateway.run({ tool: "s:t" })];
    expect(one.args).toEqual({});
    expect(one.args).not.toBe(two.args);
  });

  test("what an observer writes into the arguments of one refused call is not in those of the next", async () => {
    const scribble = plugin("scribble", {
      audit({ args, actor }) {
        if (actor.id === "alice" && !Object.isFrozen(args)) args["note"] = "seen";
      },
    });
    const gateway = await createGateway({ plugins: [listed, scribble] });
    const run = (id: string): Promise<SettledCall> =>
      gateway.run({ tool: "s:t", args: null, actor: { id, scopes: [] } });
    const first = await run("alice");
    try {
      expect((await run("bob")).args).toEqual({});
    } finally {
      // Other tests look at the same object for as long as it is shared.
      if (!Object.isFrozen(first.args)) delete first.args["note"];
    }
  });
});

describe("idle", () => {
  const createTestPipeline = (execute: Hooks["execute"]): ReturnType<typeof createPipeline> => {
    const hooks = createHooks<Hooks>();
    hooks.hook("resolve", (call) => {
      call.tool = {
        id: "s:t",
        server: "s",
        name: "t",
        inputSchema: {},
        tags: [],
        enabled: true,
        builtin: false,
      };
    });
    hooks.hook("execute", execute);
    const catalog = createCatalog({ discover() {}, changed() {} });
    return createPipeline(hooks, catalog, () => {});
  };

  test("resolves at once without pending calls, and after the last one otherwise", async () => {
    const waiting = [deferred(), deferred()];
    let count = 0;
    const pipeline = createTestPipeline(async (call) => {
      await waiting[count++]?.promise;
      call.result = textResult("done");
    });
    await pipeline.idle();
    const runs = [pipeline.run({ tool: "s:t" }), pipeline.run({ tool: "s:t" })];
    let idle = false;
    const done = pipeline.idle().then(() => {
      idle = true;
    });
    expect(pipeline.active.size).toBe(2);
    waiting[0]?.resolve();
    await runs[0];
    await quiet();
    expect(idle).toBe(false);
    waiting[1]?.resolve();
    await done;
    expect(pipeline.active.size).toBe(0);
  });

  test("everyone who waits for the pipeline to be idle is told", async () => {
    const waiting = deferred();
    const pipeline = createTestPipeline(() => waiting.promise);
    const running = pipeline.run({ tool: "s:t" });
    const told: string[] = [];
    void pipeline.idle().then(() => told.push("first"));
    void pipeline.idle().then(() => told.push("second"));
    waiting.resolve();
    await running;
    await quiet();
    expect(told).toEqual(["first", "second"]);
  });
});
