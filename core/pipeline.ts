import type { Hookable } from "hookable";
import { beginCall, Call, type CallRequest, type SettledCall, type Stage, settleCall } from "./call.ts";
import { type Cancellation, cancelledBy } from "./cancellation.ts";
import type { Catalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import {
  around,
  EXECUTE_MS,
  HOOK_MS,
  type HookLimits,
  type Hooks,
  inOrder,
  isolated,
  isPending,
  type MaybePromise,
  type Over,
} from "./hooks.ts";
import { checkArguments } from "./json.ts";
import { SlotSet } from "./slot-set.ts";
import { type Tool, toolDisabled } from "./tool.ts";

/** Answers wait for observers this long and no longer: an observer cannot end a call, so it must not hold one either. */
const AUDIT_WAIT_MS = 5_000;

/** Those before the execution. */
const STAGES: readonly Exclude<Stage, "execute">[] = ["resolve", "policy", "validate"];

/** The five stages. */
export interface Pipeline {
  /** Runs one call. Never rejects. */
  run(request: CallRequest): Promise<SettledCall>;
  /** The calls on their way. */
  readonly active: Pick<SlotSet<Call>, "has" | "size" | typeof Symbol.iterator>;
  /** Resolves once no call is on its way. */
  idle(): Promise<void>;
}

/** Makes the pipeline that runs every call: resolve → policy → validate → execute → audit. */
export function createPipeline(
  hooks: Hookable<Hooks>,
  catalog: Catalog,
  onError: (error: GatewayError) => void,
  { hookMs = HOOK_MS, executeMs = EXECUTE_MS }: HookLimits = {},
  onAnswered?: (call: Call, index: number) => void,
): Pipeline {
  const inTurn: typeof inOrder = (own, args, name) => inOrder(own, args, name, hookMs);
  const nested: typeof around = (own, args, name) => around(own, args, name, executeMs, onAnswered);
  const active = new SlotSet<Call>();
  const observers = isolated(onError, AUDIT_WAIT_MS, "The call was answered without it.");
  let onIdle: (() => void)[] = [];

  return { run, active, idle };

  /** By calling back, and not by promises of promises: these were a third of what a call costs. */
  function run(request: CallRequest): Promise<SettledCall> {
    return new Promise((resolve) => {
      const call = new Call(request);
      if (request.bound) call.tool = request.bound;
      const handle = active.add(call);
      let unlisten: (() => void) | undefined;
      const over: Over = (failure) => {
        // It may be cancelled and done at the same time.
        if (call.ended) return;
        const settled = settleCall(call, failure);
        unlisten?.();
        const auditing = hooks.callHookWith(observers, "audit", [settled]);
        if (isPending(auditing)) auditing.then(() => leave(handle, settled, resolve));
        else leave(handle, settled, resolve);
      };
      beginCall(call, () => over(call.cancelled));
      try {
        unlisten = follow(call, request);
        call.args = checkArguments(request.args);
        runStages(call, 0, over);
      } catch (thrown) {
        over(GatewayError.from(thrown));
      }
    });
  }

  function leave(handle: number, settled: SettledCall, resolve: (settled: SettledCall) => void): void {
    active.remove(handle);
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
      const pending = runStage(call, stage);
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
    hooks.callHookWith(nested, "execute", [call, over as never]);
  }

  function runStage(call: Call, stage: (typeof STAGES)[number]): MaybePromise<void> {
    // One check for all tools, before any other policy: a disabled tool asks for no scopes and no confirmation.
    if (stage === "policy" && call.tool?.enabled === false) return runDisabled(call, call.tool);
    return hooks.callHookWith(inTurn, stage, [call]);
  }

  /** Refuses a disabled tool, unless a hook lets go of it: then another object stands for it in the catalog. */
  function runDisabled(call: Call, tool: Tool): MaybePromise<void> {
    const isListed = catalog.tool(tool.id) === tool;
    const goOn = (): MaybePromise<void> => {
      if (call.cancelled) return;
      if (isListed && call.tool === tool) call.tool = catalog.tool(tool.id) ?? tool;
      if (call.tool?.enabled === false) throw toolDisabled(call.tool);
      return hooks.callHookWith(inTurn, "policy", [call]);
    };
    const looking = hooks.callHookWith(inTurn, "tool:disabled", [call]);
    return isPending(looking) ? looking.then(goOn) : goOn();
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
