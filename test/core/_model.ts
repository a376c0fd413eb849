import fc from "fast-check";
import type { Call, Hooks, Next, Plugin, PluginOrder, SettledCall } from "../../core/mod.ts";
import { textResult } from "../../core/mod.ts";
import { hang, plugin, type Throwable, throwableNames, throwables } from "../support/hooks.ts";

/** The behavior of a hook of the first three stages. */
export interface Step {
  readonly act: "pass" | "throw" | "hang";
  readonly async: boolean;
  readonly thrown: Throwable;
}

/** The behavior of an `execute` hook. */
export interface Layer {
  readonly act: "pass" | "answer" | "throw" | "throw after" | "swallow" | "retry" | "ignore" | "hang";
  readonly async: boolean;
  readonly thrown: Throwable;
}

/** A plugin made at random. */
export interface Spec {
  readonly order: PluginOrder | undefined;
  readonly resolve: Step | undefined;
  readonly policy: Step | undefined;
  readonly validate: Step | undefined;
  readonly execute: Layer | undefined;
  readonly audit: Step | undefined;
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const thrown = fc.constantFrom(...throwableNames);
const weighted = <const Act extends string>(
  ...acts: { act: Act; weight: number }[]
): fc.Arbitrary<{ act: Act; async: boolean; thrown: Throwable }> =>
  fc.record({
    act: fc.oneof(...acts.map(({ act, weight }) => ({ arbitrary: fc.constant(act), weight }))),
    async: fc.boolean(),
    thrown,
  });
const step: fc.Arbitrary<Step> = weighted(
  { act: "pass", weight: 12 },
  { act: "throw", weight: 1 },
  { act: "hang", weight: 1 },
);

/** Plugins in any number and order, which pass, throw, hang, answer, retry. */
export const specs: fc.Arbitrary<Spec[]> = fc.array(
  fc.record({
    order: fc.constantFrom(undefined, "pre" as const, "post" as const),
    resolve: maybe(step),
    policy: maybe(step),
    validate: maybe(step),
    execute: maybe(
      weighted(
        { act: "pass", weight: 6 },
        { act: "answer", weight: 3 },
        { act: "throw", weight: 1 },
        { act: "throw after", weight: 1 },
        { act: "swallow", weight: 1 },
        { act: "retry", weight: 1 },
        { act: "ignore", weight: 1 },
        { act: "hang", weight: 1 },
      ) as fc.Arbitrary<Layer>,
    ),
    audit: maybe(weighted({ act: "pass", weight: 2 }, { act: "throw", weight: 1 }) as fc.Arbitrary<Step>),
  }),
  { maxLength: 7 },
);

/** How a call must end. */
export type Outcome =
  | { readonly how: "answered"; readonly via: string }
  | { readonly how: "unanswered" }
  | { readonly how: "hung" }
  | { readonly how: "threw"; readonly plugin: string; readonly hook: string };

/** The expected course of a call: the hooks that start, in order, the stage that ends it, and how. */
export interface Expected {
  readonly log: readonly string[];
  readonly stage: SettledCall["stage"];
  readonly outcome: Outcome;
}

/** Computes the expected course of a call with these plugins, in the simplest correct way. */
export function expected(plugins: readonly Spec[]): Expected {
  const named = plugins.map((spec, index) => ({ ...spec, name: `p${index}` }));
  const ranked = (["pre", undefined, "post"] as const).flatMap((order) =>
    named.filter((spec) => spec.order === order),
  );
  const log: string[] = [];
  let via: string | undefined;
  let stage: SettledCall["stage"] = "resolve";
  let outcome: Outcome;
  try {
    for (stage of ["resolve", "policy", "validate"] as const) {
      for (const spec of ranked) {
        const now = spec[stage];
        if (!now) continue;
        log.push(`${stage} ${spec.name}`);
        if (now.act === "hang") throw new Ended({ how: "hung" });
        if (now.act === "throw") throw new Ended({ how: "threw", plugin: spec.name, hook: stage });
      }
    }
    stage = "execute";
    execute(ranked.filter((spec) => spec.execute));
    outcome = via === undefined ? { how: "unanswered" } : { how: "answered", via };
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    outcome = error.outcome;
  }
  for (const spec of ranked) if (spec.audit) log.push(`audit ${spec.name}`);
  return { log, stage, outcome };

  function execute([spec, ...rest]: typeof ranked): void {
    if (!spec) throw new Ended({ how: "unanswered" });
    log.push(`execute ${spec.name}`);
    const act = spec.execute?.act;
    if (act === "hang") throw new Ended({ how: "hung" });
    if (act === "answer") via = spec.name;
    if (act === "pass" || act === "throw after") execute(rest);
    if (act === "throw" || act === "throw after") {
      throw new Ended({ how: "threw", plugin: spec.name, hook: "execute" });
    }
    if (act === "swallow") tryOnce(rest);
    if (act === "retry") tryOnce(rest, () => execute(rest));
  }

  function tryOnce(rest: typeof ranked, otherwise = (): void => {}): void {
    try {
      execute(rest);
    } catch (error) {
      if (!(error instanceof Ended) || error.outcome.how === "hung") throw error;
      otherwise();
    }
  }
}

class Ended extends Error {
  readonly outcome: Outcome;
  constructor(outcome: Outcome) {
    super(outcome.how);
    this.outcome = outcome;
  }
}

/** The reports of the plugins in one run. */
export interface Witness {
  readonly log: string[];
  /** The last value each hook threw. */
  readonly thrown: Map<string, unknown>;
  /** Called when a hook hangs. */
  onHang(): void;
}

/** Makes the plugins of a specification. */
export function build(plugins: readonly Spec[], witness: Witness): Plugin[] {
  return plugins.map((spec, index) => {
    const name = `p${index}`;
    const hooks: Partial<Hooks> = {};
    for (const stage of ["resolve", "policy", "validate", "audit"] as const) {
      const now = spec[stage];
      if (now) hooks[stage] = () => start(stage, now, () => act(stage, now));
    }
    const layer = spec.execute;
    if (layer) hooks.execute = (call, next) => start("execute", layer, () => wrap(layer, call, next));
    return plugin(name, hooks, { order: spec.order });

    function start(hook: string, now: Step | Layer, then: () => void | Promise<void>): void | Promise<void> {
      witness.log.push(`${hook} ${name}`);
      return now.async ? Promise.resolve().then(then) : then();
    }

    function act(hook: string, now: Step | Layer): void | Promise<void> {
      if (now.act === "hang") {
        witness.onHang();
        return hang();
      }
      if (now.act !== "throw" && now.act !== "throw after") return;
      const value = throwables[now.thrown]();
      witness.thrown.set(`${hook} ${name}`, value);
      throw value;
    }

    function wrap(now: Layer, call: Call, next: Next): void | Promise<void> {
      switch (now.act) {
        case "pass":
          return next();
        case "answer":
          call.result = textResult(name);
          call.via = name;
          return;
        case "throw after":
          return next().then(() => act("execute", now));
        case "swallow":
          return next().catch(() => {});
        case "retry":
          return next().catch(() => next());
        default:
          return act("execute", now);
      }
    }
  });
}
