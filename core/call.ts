import { randomUUID } from "node:crypto";
import { GatewayError } from "./errors.ts";
import type { JsonObject, Tool, ToolResult } from "./tool.ts";

/** Who calls: the local user on stdio; over HTTP, whoever the authentication plugin found. */
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

/** What a caller asks for. */
export interface CallRequest {
  /** The id of the tool: `server:name`. */
  readonly tool: string;
  /** The arguments, as they came: nothing is assumed of them. */
  readonly args?: unknown;
  readonly actor?: Actor;
  /** Aborting it ends the call with `CANCELLED`. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** The `_meta` of the request: trace context, idempotency key and the like. */
  readonly meta?: Readonly<JsonObject>;
  /** What a client brings with a request that it makes again, because it was asked something the first time. */
  readonly input?: CallInput;
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

/** Who calls where nobody has said who it is. */
export const localUser: Actor = Object.freeze({ id: "local", scopes: Object.freeze([]) });
const noMeta: Readonly<JsonObject> = Object.freeze({});
const noArgs: JsonObject = Object.freeze({});

/** A call on its way through the pipeline. Hooks speak through it. */
export class Call {
  readonly id: string = randomUUID();
  /** The id as the caller wrote it. */
  readonly toolId: string;
  readonly actor: Actor;
  readonly meta: Readonly<JsonObject>;
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
  /** True once it has settled; no hook is started after that. */
  ended = false;

  readonly #began: number = performance.now();
  readonly #onProgress: CallRequest["onProgress"];
  #controller: AbortController | undefined;
  #cancelled: GatewayError | undefined;
  #giveUp: ((error: GatewayError) => void) | undefined;
  #listeners: ((progress: Progress) => void)[] | undefined;
  #onCancel: (() => void)[] | undefined;

  constructor(request: CallRequest) {
    // Not every caller is checked by a compiler; a settled call, say, is no parent.
    const parent = request.parent instanceof Call ? request.parent : undefined;
    this.toolId = request.tool;
    this.parent = parent;
    this.actor = request.actor ?? parent?.actor ?? localUser;
    this.meta = request.meta ?? parent?.meta ?? noMeta;
    this.input = request.input ?? parent?.input;
    this.#onProgress = request.onProgress ?? parent?.report.bind(parent);
  }

  /** Aborted when the call is cancelled or times out. Pass it to whatever takes one. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      // Made on first use: an AbortController costs more than the rest of a call.
      this.#controller = new AbortController();
      if (this.#cancelled) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  /** Why the call was cancelled, if it was. */
  get cancelled(): GatewayError | undefined {
    return this.#cancelled;
  }

  /** Tells the caller how far the call has come, and the hooks that listen. */
  report(progress: Progress): void {
    if (this.ended) return;
    for (const listener of this.#listeners ?? []) tell(listener, progress);
    if (this.#onProgress) tell(this.#onProgress, progress);
  }

  /** Lets a hook hear of progress too: a time limit that moves with it, say. */
  listen(listener: (progress: Progress) => void): void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  /** Ends the call with `error`, whatever its hooks are doing; the first one counts. */
  cancel(error: GatewayError): void {
    if (this.ended || this.#cancelled) return;
    this.#cancelled = error;
    this.#controller?.abort(error);
    for (const listener of this.#onCancel ?? []) listener();
    this.#giveUp?.(error);
  }

  /** Calls back once when the call is cancelled: what `signal` is for, at a tenth of its cost. */
  onCancel(listener: () => void): void {
    this.#onCancel ??= [];
    this.#onCancel.push(listener);
  }

  /** Waits for a stage, but not longer than until the call is cancelled. */
  wait(stage: PromiseLike<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#cancelled) reject(this.#cancelled);
      this.#giveUp = reject;
      stage.then(resolve, reject);
    });
  }

  /** What is left of the call once it is over. */
  settle(error: GatewayError | undefined): SettledCall {
    this.ended = true;
    const result = error ? undefined : (this.result ?? undefined);
    const failure =
      result === undefined && error === undefined
        ? new GatewayError("UNANSWERED", `No plugin answered the call of "${this.toolId}".`)
        : error;
    // One literal: spreading a shared part into it was two fifths of the cost of a call.
    return Object.freeze({
      id: this.id,
      toolId: this.toolId,
      tool: this.tool,
      args: this.args,
      actor: this.actor,
      meta: this.meta,
      parentId: this.parent?.id,
      stage: this.stage,
      via: this.via,
      startedAt: this.startedAt,
      durationMs: performance.now() - this.#began,
      ok: failure === undefined,
      result,
      error: failure,
    }) as SettledCall;
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

/** Why an aborted signal was aborted: the `GatewayError` it was aborted with, or else that its owner gave up. */
export function cancelledBy(signal: AbortSignal): GatewayError {
  const { reason } = signal;
  return GatewayError.is(reason)
    ? reason
    : new GatewayError("CANCELLED", "The caller cancelled the call.", { cause: reason });
}
