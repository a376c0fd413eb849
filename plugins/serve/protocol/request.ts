import {
  type Actor,
  type Call,
  type CallInput,
  Cancellation,
  GatewayError,
  type JsonObject,
  type Progress,
} from "../../../core/mod.ts";
import type { Client } from "../../../core/services/clients.ts";
import type { RequestClient } from "../client/pending.ts";
import type { ClientConnection } from "./connection.ts";
import { type Id, META } from "./messages.ts";
import { parseClientInfo } from "./session.ts";

/** Answers the requests of one method. */
export type Handler = (params: JsonObject, request: Request) => unknown;

/** Handlers by method. */
export type Handlers = Readonly<Record<string, Handler>>;

const noMeta: Readonly<JsonObject> = Object.freeze({});

/**
 * A request that is being answered; cancelled when its client cancels it. A class because every call has one: an object
 * literal with getters, and all that these can reach, was seen to live until old objects are collected
 * (test/bench/README.md).
 */
export class Request extends Cancellation {
  readonly id: Id;
  readonly isModern: boolean;
  readonly connection: ClientConnection;
  /** The `_meta` of the request; empty once it is answered. */
  meta: Readonly<JsonObject>;
  /** The client, if it can be asked and notified while the request runs. */
  client: RequestClient | undefined = undefined;
  /** Answers to the questions of an upstream server, and the state it gave out with them. */
  input: CallInput | undefined = undefined;
  /** Calls of tools that may do more than read. */
  effects: Call[] | undefined = undefined;
  /**
   * The request through which a modern client takes part: this one, or a later one that continues it; undefined while
   * the call is suspended.
   */
  current: Request | undefined = this;
  /** Called when the client no longer waits for the answer; cheaper than a signal. */
  onLeave: (() => void) | undefined = undefined;
  #isGone = false;
  #isDone = false;
  #done: Promise<void> | undefined;
  #onDone: (() => void) | undefined;

  constructor(
    id: Id,
    isModern: boolean,
    connection: ClientConnection,
    meta: Readonly<JsonObject> | undefined,
  ) {
    super();
    this.id = id;
    this.isModern = isModern;
    this.connection = connection;
    this.meta = meta ?? noMeta;
  }

  /** Actor of the request; the local user if not known. */
  get actor(): Actor | undefined {
    return this.connection.actor;
  }

  /** The name of the client, also of one that cannot be asked. */
  get info(): Client["info"] {
    return this.isModern ? parseClientInfo(this.meta[`${META}clientInfo`]) : this.connection.session.info;
  }

  /** Reports progress to the client; undefined if the client did not ask for that. */
  get onProgress(): ((progress: Progress) => void) | undefined {
    return this.meta["progressToken"] === undefined ? undefined : (progress) => this.#report(progress);
  }

  #report(progress: Progress): void {
    const { progressToken } = this.current?.meta ?? noMeta;
    if (progressToken === undefined) return;
    const params = { progressToken, ...progress };
    this.current?.connection.send({ jsonrpc: "2.0", method: "notifications/progress", params });
  }

  /** Notes a call of a tool that may do more than read. */
  addEffect(call: Call): void {
    this.effects ??= [];
    this.effects.push(call);
    if (this.current) this.current.effects = this.effects;
  }

  /** Whether a tool may have been reached that does more than read. */
  get hasEffects(): boolean {
    return this.effects?.some(({ isSent }) => isSent !== false) ?? false;
  }

  /** Cancels calls that no server has been sent yet. */
  cancelUnsent(): void {
    for (const call of this.effects ?? []) {
      if (call.isSent !== false) continue;
      const message = `The client left before "${call.toolId}" was sent to its server.`;
      call.cancel(new GatewayError("CANCELLED", message, { data: { sent: false } }));
    }
  }

  /** Whether the request is answered, or its client no longer waits for the answer. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Notes that. */
  leave(): void {
    this.#isGone = true;
    this.onLeave?.();
  }

  /** Resolves once no work is done for the request any more. */
  get done(): Promise<void> {
    if (this.#isDone) return Promise.resolve();
    this.#done ??= new Promise((resolve) => {
      this.#onDone = resolve;
    });
    return this.#done;
  }

  /** Ends the request. */
  end(): void {
    this.#isDone = true;
    this.#onDone?.();
    // A map may keep a removed entry alive for long, and through these all of the call.
    this.onLeave = undefined;
    this.effects = undefined;
    this.meta = noMeta;
  }
}
