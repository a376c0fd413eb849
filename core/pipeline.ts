import type { Hookable } from "hookable";
import { Bag } from "./_bag.ts";
import { Call, type CallRequest, cancelledBy, type SettledCall, type Stage } from "./call.ts";
import type { Catalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import { around, type Hooks, inOrder, isolated, isPending, type MaybePromise, type Next } from "./hooks.ts";
import { checkArguments } from "./json.ts";

/** Answers wait for observers this long and no longer: an observer cannot end a call, so it must not hold one either. */
const AUDIT_WAIT_MS = 5_000;

const STAGES: readonly Stage[] = ["resolve", "policy", "validate", "execute"];

const behindTheLast: Next = () => Promise.resolve();

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

  async function run(request: CallRequest): Promise<SettledCall> {
    const call = new Call(request);
    const signal = request.signal ?? call.parent?.signal;
    let unlisten: (() => void) | undefined;
    const place = active.add(call);
    let failure: GatewayError | undefined;
    try {
      if (signal) unlisten = cancelOnAbort(call, signal);
      call.args = checkArguments(request.args);
      const pending = runStages(call, 0);
      if (isPending(pending)) await call.wait(pending);
    } catch (thrown) {
      failure = GatewayError.from(thrown);
    }
    const settled = call.settle(failure);
    unlisten?.();
    const auditing = hooks.callHookWith(observers, "audit", [settled]);
    if (isPending(auditing)) await atMost(AUDIT_WAIT_MS, auditing);
    active.remove(place);
    if (active.size === 0) {
      for (const tell of onIdle) tell();
      onIdle = [];
    }
    return settled;
  }

  /** Runs the stages from one on, without a promise for as long as no hook needs one. */
  function runStages(call: Call, from: number): MaybePromise<void> {
    for (let index = from; index < STAGES.length; index++) {
      const stage = STAGES[index] as Stage;
      call.stage = stage;
      const pending =
        stage === "execute"
          ? hooks.callHookWith(around, stage, [call, behindTheLast])
          : hooks.callHookWith(inOrder, stage, [call]);
      if (isPending(pending)) {
        return pending.then(() => {
          after(call, stage);
          return runStages(call, index + 1);
        });
      }
      after(call, stage);
    }
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

/** Returns what ends the listening. */
function cancelOnAbort(call: Call, signal: AbortSignal): () => void {
  if (signal.aborted) throw cancelledBy(signal);
  const onAbort = (): void => call.cancel(cancelledBy(signal));
  signal.addEventListener("abort", onAbort);
  return () => signal.removeEventListener("abort", onAbort);
}
