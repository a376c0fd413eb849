import type { Hookable } from "hookable";
import { beginCall, Call, type CallRequest, type SettledCall, type Stage, settleCall } from "./call.ts";
import { callInOrder, callNested, createIsolatedCaller, isPending, type Over } from "./call-hooks.ts";
import { type Cancellation, getAbortReason } from "./cancellation.ts";
import type { Catalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import { EXECUTE_MS, HOOK_MS, type HookLimits, type Hooks, type MaybePromise } from "./hooks.ts";
import { checkArguments } from "./json.ts";
import { SlotSet } from "./slot-set.ts";
import { createDisabledError, type Tool } from "./tool.ts";

/** Time that an answer waits for observers: they cannot end a call, so they must not delay one for longer. */
const AUDIT_WAIT_MS = 5_000;

/** The stages before the execution. */
const STAGES: readonly Exclude<Stage, "execute">[] = ["resolve", "policy", "validate"];

/** The five stages. */
export interface Pipeline {
  /** Runs one call. Never rejects. */
  run(request: CallRequest): Promise<SettledCall>;
  /** The running calls. */
  readonly active: Pick<SlotSet<Call>, "has" | "size" | typeof Symbol.iterator>;
  /** Resolves once no call is running. */
  idle(): Promise<void>;
}

/** Creates the pipeline that runs every call: resolve → policy → validate → execute → audit. */
export function createPipeline(
  hooks: Hookable<Hooks>,
  catalog: Catalog,
  onError: (error: GatewayError) => void,
  { hookMs = HOOK_MS, executeMs = EXECUTE_MS }: HookLimits = {},
  onAnswered?: (call: Call, index: number) => void,
): Pipeline {
  const inOrder: typeof callInOrder = (own, args, name) => callInOrder(own, args, name, hookMs);
  const nested: typeof callNested = (own, args, name) => callNested(own, args, name, executeMs, onAnswered);
  const active = new SlotSet<Call>();
  const observers = createIsolatedCaller(onError, AUDIT_WAIT_MS, "The call was answered without it.");
  let onIdle: (() => void)[] = [];

  return { run, active, idle };

  /** Runs a call with callbacks: promises of promises were a third of the cost of a call. */
  function run(request: CallRequest): Promise<SettledCall> {
    return new Promise((resolve) => {
      const call = new Call(request);
      if (request.bound) call.tool = request.bound;
      const handle = active.add(call);
      let unlisten: (() => void) | undefined;
      const over: Over = (failure) => {
        // A call may be cancelled and done at the same time.
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
      for (const notify of onIdle) notify();
      onIdle = [];
    }
    resolve(settled);
  }

  /** Runs the stages from an index on, without a promise until a hook returns one. */
  function runStages(call: Call, from: number, over: Over): void {
    for (let index = from; index < STAGES.length; index++) {
      const stage = STAGES[index] as (typeof STAGES)[number];
      call.stage = stage;
      const pending = runStage(call, stage);
      if (isPending(pending)) {
        pending
          .then(() => {
            finishStage(call, stage);
            runStages(call, index + 1, over);
          })
          .catch((thrown) => over(GatewayError.from(thrown)));
        return;
      }
      finishStage(call, stage);
    }
    call.stage = "execute";
    hooks.callHookWith(nested, "execute", [call, over as never]);
  }

  function runStage(call: Call, stage: (typeof STAGES)[number]): MaybePromise<void> {
    // Checked before any policy: a disabled tool needs no scopes and no confirmation.
    if (stage === "policy" && call.tool?.enabled === false) return runDisabled(call, call.tool);
    return hooks.callHookWith(inOrder, stage, [call]);
  }

  /** Refuses a disabled tool, unless a hook releases it: then the catalog has another object for it. */
  function runDisabled(call: Call, tool: Tool): MaybePromise<void> {
    const isListed = catalog.tool(tool.id) === tool;
    const continuePolicy = (): MaybePromise<void> => {
      if (call.cancelled) return;
      if (isListed && call.tool === tool) call.tool = catalog.tool(tool.id) ?? tool;
      if (call.tool?.enabled === false) throw createDisabledError(call.tool);
      return hooks.callHookWith(inOrder, "policy", [call]);
    };
    const looking = hooks.callHookWith(inOrder, "tool:disabled", [call]);
    return isPending(looking) ? looking.then(continuePolicy) : continuePolicy();
  }

  function finishStage(call: Call, stage: Stage): void {
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

/** Cancels a call with its parent, or when its caller cancels it. Returns a function that ends the listening. */
function follow(call: Call, { signal, cancellation = call.parent }: CallRequest): (() => void) | undefined {
  if (signal) return listenToSignal(call, signal);
  return cancellation && listenToCancellation(call, cancellation);
}

function listenToSignal(call: Call, signal: AbortSignal): () => void {
  if (signal.aborted) throw getAbortReason(signal);
  const onAbort = (): void => call.cancel(getAbortReason(signal));
  signal.addEventListener("abort", onAbort);
  return () => signal.removeEventListener("abort", onAbort);
}

function listenToCancellation(call: Call, cancellation: Cancellation): () => void {
  if (cancellation.cancelled) throw cancellation.cancelled;
  const onCancel = (): void => call.cancel(cancellation.cancelled);
  cancellation.onCancel(onCancel);
  return () => cancellation.offCancel(onCancel);
}
