import { randomUUID } from "node:crypto";
import { Cancellation } from "./cancellation.ts";
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
  /** Giving it up does the same, for whoever would not make a signal only for that. */
  readonly cancellation?: Cancellation | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The `_meta` of the request: trace context, idempotency key and the like. */
  readonly meta?: Readonly<JsonObject>;
  /** What whoever calls wants to find again in the call. */
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

/** Who calls where nobody has said who it is. */
export const localUser: Actor = Object.freeze({ id: "local", scopes: Object.freeze([]) });
const noMeta: Readonly<JsonObject> = Object.freeze({});
const noArgs: JsonObject = Object.freeze({});

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
  /** True once it has settled; no hook is started after that. */
  ended = false;

  readonly #began: number = performance.now();
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
    // A copy: whoever calls twice with the same ones must not make one call take the other's for its own.
    this.notes = { ...request.notes };
    this.input = request.input ?? parent?.input;
    this.#onProgress = request.onProgress ?? parent?.report.bind(parent);
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
  override cancel(error?: GatewayError): void {
    if (this.ended || this.cancelled) return;
    super.cancel(error);
    this.#onCancelled?.();
  }

  /** Says what ends the call when it is cancelled, once all who listen have heard of that. */
  begin(onCancelled: () => void): void {
    this.#onCancelled = onCancelled;
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
      notes: this.notes,
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
