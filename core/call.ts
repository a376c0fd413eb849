import { randomUUID } from "node:crypto";
import { Cancellation } from "./cancellation.ts";
import { GatewayError } from "./errors.ts";
import type { JsonObject, Tool, ToolResult } from "./tool.ts";

/** The caller: the local user on stdio; over HTTP, the actor that the authentication plugin found. */
export interface Actor {
  readonly id: string;
  readonly scopes: readonly string[];
}

/** How far a call has come, as MCP reports it. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Answers to what a tool asked when it was called before, and where it was then, both as they came. */
export interface CallInput {
  readonly responses?: unknown;
  readonly state?: unknown;
}

/**
 * What plugins keep of a call while it is on its way, each under a symbol of its own. It goes when the call goes: a map
 * by the ids of calls would have to be tidied up, and holds what was in it for longer than it seems.
 */
export type CallNotes = { [key: symbol]: unknown };

/** What a caller asks for. */
export interface CallRequest {
  /** The id of the tool: `server:name`. */
  readonly tool: string;
  /** The tool of this id, where it is none of the catalog: `resolve` is then left with nothing to find. */
  readonly bound?: Tool;
  /** The arguments, as they came: nothing is assumed of them. */
  readonly args?: unknown;
  readonly actor?: Actor | undefined;
  /** Aborting it ends the call with `CANCELLED`. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the call with the reason it is cancelled with; cheaper than a signal made only for that. */
  readonly cancellation?: Cancellation | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The `_meta` of the request: trace context, idempotency key and the like. */
  readonly meta?: Readonly<JsonObject>;
  /** Notes that the caller finds again in the call. */
  readonly notes?: CallNotes | undefined;
  /** What a client brings with a request that it makes again, because it was asked something the first time. */
  readonly input?: CallInput | undefined;
  /** The call this one is made for. Actor, cancellation, progress and meta are taken from it where they are not given. */
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
  /** Who answered in place of the tool: a cache, a dry run, a replay. */
  readonly via: string | undefined;
  readonly startedAt: number;
  readonly durationMs: number;
}

/** A call that is over: what `audit` observes and `run()` returns. */
export type SettledCall =
  | (Settled & { readonly ok: true; readonly result: ToolResult; readonly error: undefined })
  | (Settled & { readonly ok: false; readonly result: undefined; readonly error: GatewayError });

/** The actor of a call that names none. */
export const localUser: Actor = Object.freeze({ id: "local", scopes: Object.freeze([]) });
const noMeta: Readonly<JsonObject> = Object.freeze({});
const noArgs: JsonObject = Object.freeze({});

/** Says what ends a call when it is cancelled, once all who listen have heard of that. For the pipeline. */
export let beginCall: (call: Call, onCancelled: () => void) => void;
/** Ends a call and returns what is left of it. For the pipeline: a hook that could do so would leave the call hanging. */
export let settleCall: (call: Call, error: GatewayError | undefined) => SettledCall;
/** Limits how long a call may stay where it is; `late` makes the error it is then cancelled with. For the pipeline. */
export let limitCall: (call: Call, ms: number, late: () => GatewayError) => void;
/** Lifts that limit. For the pipeline. */
export let unlimitCall: (call: Call) => void;

/** A call on its way through the pipeline. Hooks speak through it. */
export class Call extends Cancellation {
  readonly id: string = randomUUID();
  /** The id as the caller wrote it. */
  readonly toolId: string;
  readonly actor: Actor;
  readonly meta: Readonly<JsonObject>;
  readonly notes: CallNotes;
  readonly input: CallInput | undefined;
  readonly parent: Call | undefined;
  /** When it began, in milliseconds since 1970. */
  readonly startedAt: number = Date.now();
  /** Bound by `resolve`. */
  tool: Tool | undefined = undefined;
  /** Replaced by `validate`. */
  args: JsonObject = noArgs;
  /** Set by `execute`. */
  result: ToolResult | undefined = undefined;
  /** Set by an `execute` hook that answers in place of the tool. */
  via: string | undefined = undefined;
  /** The stage it is in, or ended in. */
  stage: Stage = "resolve";
  /** Set by an `execute` hook that cancels the call when it takes too long: then neither core nor an upstream does. */
  isTimed = false;

  readonly #began: number = performance.now();
  #ended = false;
  #innerCalls = 0;
  #pauses = 0;
  #pausedAt = 0;
  #pausedMs = 0;
  #limit: ReturnType<typeof setTimeout> | undefined;
  readonly #onProgress: CallRequest["onProgress"];
  #listeners: ((progress: Progress) => void)[] | undefined;
  #onCancelled: (() => void) | undefined;

  constructor(request: CallRequest) {
    super();
    // Not every caller is checked by a compiler; a settled call, say, is no parent.
    const parent = request.parent instanceof Call ? request.parent : undefined;
    this.toolId = request.tool;
    this.parent = parent;
    this.actor = request.actor ?? parent?.actor ?? localUser;
    this.meta = request.meta ?? parent?.meta ?? noMeta;
    // A copy: two calls made with the same notes must not see one another's.
    this.notes = { ...request.notes };
    this.input = request.input ?? parent?.input;
    this.#onProgress = request.onProgress ?? parent?.report.bind(parent);
  }

  /** Tells the caller how far the call has come, and the hooks that listen. */
  report(progress: Progress): void {
    if (this.#ended) return;
    for (const listener of this.#listeners ?? []) tell(listener, progress);
    if (this.#onProgress) tell(this.#onProgress, progress);
  }

  /** Lets a hook hear of progress too: a time limit that moves with it, say. */
  listen(listener: (progress: Progress) => void): void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  /** Ends the call with `error`, whatever its hooks are doing; the first one counts. */
  override cancel(error?: GatewayError): void {
    if (this.#ended || this.cancelled) return;
    super.cancel(error);
    this.#onCancelled?.();
  }

  /** True once it has settled; no hook is started after that. */
  get ended(): boolean {
    return this.#ended;
  }

  /** How long it has run, in milliseconds, without the time it was paused. */
  get activeMs(): number {
    return (this.#pauses > 0 ? this.#pausedAt : performance.now()) - this.#began - this.#pausedMs;
  }

  /** Whether its time limits stand still. */
  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  /**
   * Stops the time limits of the call, and of those it is made for, until the returned function is called: how long a
   * user thinks about a question is not the tool's doing.
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

  // Functions of this module and not methods, so that no hook has them: they see the private fields at no cost.
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

    limitCall = (call, ms, late) => {
      if (call.#ended) return;
      const until = call.activeMs + ms;
      // A timer that keeps the process alive: a hook that hangs must end with an error, not with the process.
      const check = (): void => {
        // An inner call has a limit of its own.
        const left = call.isPaused || call.#innerCalls > 0 ? ms : Math.ceil(until - call.activeMs);
        if (left > 0) call.#limit = setTimeout(check, left);
        else if (!(call.isTimed && call.stage === "execute")) call.cancel(late());
      };
      unlimitCall(call);
      call.#limit = setTimeout(check, ms);
    };

    unlimitCall = (call) => {
      clearTimeout(call.#limit);
      call.#limit = undefined;
    };
  }
}

function tell(listener: (progress: Progress) => void, progress: Progress): void {
  try {
    // It may be an async function, whatever its type says.
    const returned: unknown = listener(progress);
    if (returned instanceof Promise) returned.catch(() => {});
  } catch {
    // A listener that fails is its owner's concern; the call goes on.
  }
}
