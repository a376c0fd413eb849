import type { Hookable } from "hookable";
import { Bag } from "./bag.ts";
import { Call, type CallRequest, type SettledCall, type Stage } from "./call.ts";
import { type Cancellation, cancelledBy } from "./cancellation.ts";
import type { Catalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import { around, type Hooks, inOrder, isolated, isPending, type Over } from "./hooks.ts";
import { checkArguments } from "./json.ts";

/** Answers wait for observers this long and no longer: an observer cannot end a call, so it must not hold one either. */
const AUDIT_WAIT_MS = 5_000;

/** Those before the execution. */
const STAGES: readonly Exclude<Stage, "execute">[] = ["resolve", "policy", "validate"];

/** The five stages. */
export interface Pipeline {
  /** Runs one call. Never rejects. */
  run(request: CallRequest): Promise<SettledCall>;
  /** The calls on their way. */
  readonly active: Pick<Bag<Call>, "has" | "size" | typeof Symbol.iterator>;
  /** Resolves once no call is on its way. */
  idle(): Promise<void>;
}

/** Makes the pipeline that runs every call: resolve → policy → validate → execute → audit. */
export function createPipeline(
  hooks: Hookable<Hooks>,
  catalog: Catalog,
  onError: (error: GatewayError) => void,
): Pipeline {
  const active = new Bag<Call>();
  const observers = isolated(onError);
  let onIdle: (() => void)[] = [];

  return { run, active, idle };

  /** By calling back, and not by promises of promises: these were a third of what a call costs. */
  function run(request: CallRequest): Promise<SettledCall> {
    return new Promise((resolve) => {
      const call = new Call(request);
      if (request.bound) call.tool = request.bound;
      const place = active.add(call);
      let unlisten: (() => void) | undefined;
      const over: Over = (failure) => {
        // It may be cancelled and done at the same time.
        if (call.ended) return;
        const settled = call.settle(failure);
        unlisten?.();
        const auditing = hooks.callHookWith(observers, "audit", [settled]);
        if (isPending(auditing)) atMost(AUDIT_WAIT_MS, auditing).then(() => leave(place, settled, resolve));
        else leave(place, settled, resolve);
      };
      call.begin(() => over(call.cancelled));
      try {
        unlisten = follow(call, request);
        call.args = checkArguments(request.args);
        runStages(call, 0, over);
      } catch (thrown) {
        over(GatewayError.from(thrown));
      }
    });
  }

  function leave(place: number, settled: SettledCall, resolve: (settled: SettledCall) => void): void {
    active.remove(place);
    if (active.size === 0) {
      for (const tell of onIdle) tell();
      onIdle = [];
    }
    resolve(settled);
  }

  /** Runs the stages from one on, without a promise for as long as no hook needs one. */
  function runStages(call: Call, from: number, over: Over): void {
    for (let index = from; index < STAGES.length; index++) {
      const stage = STAGES[index] as (typeof STAGES)[number];
      call.stage = stage;
      const pending = hooks.callHookWith(inOrder, stage, [call]);
      if (isPending(pending)) {
        pending
          .then(() => {
            after(call, stage);
            runStages(call, index + 1, over);
          })
          .catch((thrown) => over(GatewayError.from(thrown)));
        return;
      }
      after(call, stage);
    }
    call.stage = "execute";
    hooks.callHookWith(around, "execute", [call, over as never]);
  }

  function after(call: Call, stage: Stage): void {
    if (call.cancelled) throw call.cancelled;
    if (stage === "resolve") bind(call);
  }

  function idle(): Promise<void> {
    if (active.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      onIdle.push(resolve);
    });
  }

  function bind(call: Call): void {
    call.tool ??= catalog.tool(call.toolId);
    if (!call.tool) {
      throw new GatewayError("TOOL_NOT_FOUND", `There is no tool "${call.toolId}".`, {
        data: { tool: call.toolId },
      });
    }
  }

  async function atMost(ms: number, auditing: PromiseLike<void>): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const slow = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        onError(
          new GatewayError(
            "TIMEOUT",
            `An audit hook has not finished within ${ms} ms; the call was answered without it.`,
          ),
        );
        resolve();
      }, ms);
    });
    await Promise.race([auditing, slow]);
    clearTimeout(timer);
  }
}

/** A call ends with the call that it is made for, and when its caller gives up. Returns what ends the listening. */
function follow(call: Call, { signal, cancellation = call.parent }: CallRequest): (() => void) | undefined {
  if (signal) return followSignal(call, signal);
  return cancellation && followCancellation(call, cancellation);
}

function followSignal(call: Call, signal: AbortSignal): () => void {
  if (signal.aborted) throw cancelledBy(signal);
  const onAbort = (): void => call.cancel(cancelledBy(signal));
  signal.addEventListener("abort", onAbort);
  return () => signal.removeEventListener("abort", onAbort);
}

function followCancellation(call: Call, cancellation: Cancellation): () => void {
  if (cancellation.cancelled) throw cancellation.cancelled;
  const onCancel = (): void => call.cancel(cancellation.cancelled);
  cancellation.onCancel(onCancel);
  return () => cancellation.offCancel(onCancel);
}
