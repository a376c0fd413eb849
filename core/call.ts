import { randomUUID } from "node:crypto";
import { Cancellation } from "./cancellation.ts";
import { GatewayError } from "./errors.ts";
import type { JsonObject, Tool, ToolResult } from "./tool.ts";

/** The caller: the local user on stdio; over HTTP, the actor that the authentication plugin found. */
export interface Actor {
  readonly id: string;
  readonly scopes: readonly string[];
}

/** Progress of a call, as MCP reports it. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Answers to the input requests of an earlier call, and the state of that call, both unchecked. */
export interface CallInput {
  readonly responses?: unknown;
  readonly state?: unknown;
}

/**
 * Data that plugins attach to a call, each under a symbol of its own. It is collected with the call: a map by call id
 * would have to be cleaned up, and holds its entries for longer.
 */
export type CallNotes = { [key: symbol]: unknown };

/** Request of a call. */
export interface CallRequest {
  /** The id of the tool: `server:name`. */
  readonly tool: string;
  /** The tool of this id, if it is not in the catalog; `resolve` then has nothing to find. */
  readonly bound?: Tool;
  /** The arguments, unchecked. */
  readonly args?: unknown;
  readonly actor?: Actor | undefined;
  /** Aborting it ends the call with `CANCELLED`. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the call when it is cancelled; cheaper than a signal created only for that. */
  readonly cancellation?: Cancellation | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The `_meta` of the request: trace context, idempotency key and the like. */
  readonly meta?: Readonly<JsonObject>;
  /** Notes that the caller finds again in the call. */
  readonly notes?: CallNotes | undefined;
  /** Answers of a client that repeats a request after it was asked for input. */
  readonly input?: CallInput | undefined;
  /**
   * The call this one is made for. It provides actor, cancellation, progress and trace context unless they are given. The
   * rest of its meta was meant for it alone: with it, a confirmation or an idempotency key would count for any inner call.
   */
  readonly parent?: Call;
}

/** The stages that can end a call. */
export type Stage = "resolve" | "policy" | "validate" | "execute";

interface Settled {
  readonly id: string;
  readonly toolId: string;
  readonly tool: Tool | undefined;
  readonly args: JsonObject;
  readonly actor: Actor;
  readonly meta: Readonly<JsonObject>;
  readonly notes: CallNotes;
  readonly parentId: string | undefined;
  /** The stage that ended the call. */
  readonly stage: Stage;
  /** Answered in place of the tool: a cache, a dry run, a replay. */
  readonly via: string | undefined;
  readonly startedAt: number;
  readonly durationMs: number;
}

/** A completed call, which `audit` observes and `run()` returns. */
export type SettledCall =
  | (Settled & { readonly ok: true; readonly result: ToolResult; readonly error: undefined })
  | (Settled & { readonly ok: false; readonly result: undefined; readonly error: GatewayError });

/** The actor of a call that names none. */
export const localUser: Actor = Object.freeze({ id: "local", scopes: Object.freeze([]) });
const noMeta: Readonly<JsonObject> = Object.freeze({});
/** The fields of the trace context, as W3C defines them. */
const TRACE_FIELDS = ["traceparent", "tracestate", "baggage"];

function keepTrace(meta: Readonly<JsonObject>): Readonly<JsonObject> {
  const fields = TRACE_FIELDS.filter((name) => Object.hasOwn(meta, name));
  return fields.length === 0 ? noMeta : Object.fromEntries(fields.map((name) => [name, meta[name]]));
}

/**
 * Gives the meta that a meta-tool hands to the one call that its arguments name: key, confirmation and timeout. None if
 * it is itself an inner call, since its caller named no further one.
 */
export function handMeta(call: Pick<Call, "meta" | "parent">): { readonly meta?: Readonly<JsonObject> } {
  return call.parent ? {} : { meta: call.meta };
}
const noArgs: JsonObject = Object.freeze({});

/** Starts a call. `onCancelled` runs after the listeners of its cancellation. For the pipeline. */
export let beginCall: (call: Call, onCancelled: () => void) => void;
/** Settles a call. For the pipeline: a hook that could do so would leave the call hanging. */
export let settleCall: (call: Call, error: GatewayError | undefined) => SettledCall;
/** Limits the time of the current stage; `onLate` creates the error that then cancels the call. For the pipeline. */
export let limitCall: (call: Call, ms: number, onLate: () => GatewayError) => void;
/** Limits it from when no plugin limits the call any more: most calls then need one timer. For the pipeline. */
export let limitCallLater: typeof limitCall;
/** Removes that limit. For the pipeline. */
export let unlimitCall: (call: Call) => void;

/** A call in the pipeline. Hooks communicate through it. */
export class Call extends Cancellation {
  readonly id: string = randomUUID();
  /** The tool id as the caller wrote it. */
  readonly toolId: string;
  readonly actor: Actor;
  readonly meta: Readonly<JsonObject>;
  readonly notes: CallNotes;
  readonly input: CallInput | undefined;
  readonly parent: Call | undefined;
  /** Start, in milliseconds since 1970. */
  readonly startedAt: number = Date.now();
  /** Bound by `resolve`. */
  tool: Tool | undefined = undefined;
  /** Replaced by `validate`. */
  args: JsonObject = noArgs;
  /** Set by `execute`. */
  result: ToolResult | undefined = undefined;
  /** Set by an `execute` hook that answers in place of the tool. */
  via: string | undefined = undefined;
  /** The current stage, or the one that ended the call. */
  stage: Stage = "resolve";
  /** Whether the request has left for the server of the tool; undefined if no plugin tells. */
  isSent: boolean | undefined = undefined;

  readonly #began: number = performance.now();
  #ended = false;
  #innerCalls = 0;
  #pauses = 0;
  #pausedAt = 0;
  #pausedMs = 0;
  #isTimed = false;
  #limit: ReturnType<typeof setTimeout> | undefined;
  /** Begins the current limit anew. */
  #restartLimit: (() => void) | undefined;
  readonly #onProgress: CallRequest["onProgress"];
  #listeners: ((progress: Progress) => void)[] | undefined;
  #onCancelled: (() => void) | undefined;

  constructor(request: CallRequest) {
    super();
    // Not every caller is type-checked; a settled call, for example, is no parent.
    const parent = request.parent instanceof Call ? request.parent : undefined;
    this.toolId = request.tool;
    this.parent = parent;
    this.actor = request.actor ?? parent?.actor ?? localUser;
    this.meta = request.meta ?? (parent ? keepTrace(parent.meta) : noMeta);
    // A copy: two calls with the same notes must not share them.
    this.notes = { ...request.notes };
    this.input = request.input ?? parent?.input;
    this.#onProgress = request.onProgress ?? parent?.report.bind(parent);
  }

  /** Set by an `execute` hook that limits the time of the call: then neither core nor an upstream does, until it is reset. */
  get isTimed(): boolean {
    return this.#isTimed;
  }

  set isTimed(isTimed: boolean) {
    this.#isTimed = isTimed;
    if (!isTimed) this.#restartLimit?.();
  }

  /** Reports progress to the caller, and to the hooks that listen. */
  report(progress: Progress): void {
    if (this.#ended) return;
    for (const listener of this.#listeners ?? []) notify(listener, progress);
    if (this.#onProgress) notify(this.#onProgress, progress);
  }

  /** Adds a listener for progress, for example a time limit that moves with it. */
  listen(listener: (progress: Progress) => void): void {
    if (this.#listeners) this.#listeners.push(listener);
    else this.#listeners = [listener];
  }

  /** Ends the call with `error`, even while its hooks run; the first error counts. */
  override cancel(error?: GatewayError): void {
    if (this.#ended || this.cancelled) return;
    super.cancel(error);
    this.#onCancelled?.();
  }

  /** Whether the call has settled; no hook starts after that. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Duration in milliseconds, without pauses. */
  get activeMs(): number {
    return (this.#pauses > 0 ? this.#pausedAt : performance.now()) - this.#began - this.#pausedMs;
  }

  /** Whether the time limits are paused. */
  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /**
   * Pauses the time limits of the call and its parents until the returned function is called: the time that a user
   * takes to answer a question does not count for the tool.
   */
  pause(): () => void {
    const now = performance.now();
    for (let call: Call | undefined = this; call; call = call.parent) {
      if (call.#pauses++ === 0) call.#pausedAt = now;
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const end = performance.now();
      for (let call: Call | undefined = this; call; call = call.parent) {
        if (--call.#pauses === 0) call.#pausedMs += end - call.#pausedAt;
      }
    };
  }

  // Functions of the module and not methods, so that no hook has them; they access private fields at no cost.
  static {
    beginCall = (call, onCancelled) => {
      call.#onCancelled = onCancelled;
      if (call.parent) call.parent.#innerCalls++;
    };

    settleCall = (call, error) => {
      call.#ended = true;
      if (call.#limit) clearTimeout(call.#limit);
      if (call.parent) call.parent.#innerCalls--;
      const result = error ? undefined : (call.result ?? undefined);
      const failure =
        result === undefined && error === undefined
          ? new GatewayError("UNANSWERED", `No plugin answered the call of "${call.toolId}".`)
          : error;
      // One literal: spreading a shared part into it was two fifths of the cost of a call.
      return Object.freeze({
        id: call.id,
        toolId: call.toolId,
        tool: call.tool,
        args: call.args,
        actor: call.actor,
        meta: call.meta,
        notes: call.notes,
        parentId: call.parent?.id,
        stage: call.stage,
        via: call.via,
        startedAt: call.startedAt,
        durationMs: performance.now() - call.#began,
        ok: failure === undefined,
        result,
        error: failure,
      }) as SettledCall;
    };

    limitCall = (call, ms, onLate) => {
      if (call.#ended) return;
      let until = call.activeMs + ms;
      call.#restartLimit = () => {
        until = call.activeMs + ms;
      };
      // A timer that keeps the process alive: a hook that hangs must end with an error, not with the process.
      const check = (): void => {
        // An inner call has its own limit.
        const left = call.isPaused || call.#innerCalls > 0 ? ms : Math.ceil(until - call.activeMs);
        if (left > 0) call.#limit = setTimeout(check, left);
        else if (!call.#isTimed || call.stage !== "execute") call.cancel(onLate());
        else call.#limit = setTimeout(check, ms);
      };
      unlimitCall(call);
      call.#limit = setTimeout(check, ms);
    };

    limitCallLater = (call, ms, onLate) => {
      call.#restartLimit = () => limitCall(call, ms, onLate);
    };

    unlimitCall = (call) => {
      clearTimeout(call.#limit);
      call.#limit = undefined;
    };
  }
}

function notify(listener: (progress: Progress) => void, progress: Progress): void {
  try {
    // A caller without types may pass an async function.
    const returned: unknown = listener(progress);
    if (returned instanceof Promise) returned.catch(() => {});
  } catch {
    // A failing listener does not affect the call.
  }
}
