import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import { type GatewayError, isJsonObject, type JsonObject, type Progress } from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";
import type { RequestTurns, UpstreamCallOptions } from "../../core/services/servers.ts";
import {
  connectionEnded,
  type RpcErrorObject,
  requestError,
  requestTimeout,
  toAnswerError,
} from "./errors.ts";
import type { McpTransport } from "./session.ts";

/** Dependencies of the requests of one connection. */
export interface RequestsOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly transport: Pick<McpTransport, "send" | "closeReason" | "endsBySignal" | "hasPerRequestStream">;
  /** The `_meta` that every message of the modern protocol carries; undefined in the legacy protocol. */
  readonly envelope: Readonly<JsonObject> | undefined;
  /** Explains an error that only the transport knows. */
  readonly explain?: ((thrown: unknown) => GatewayError | undefined) | undefined;
  /** Rate limit of the transport. */
  readonly turns?: RequestTurns | undefined;
}

/** One request to the server. */
export interface RequestInit<T> {
  readonly method: string;
  /** Owned by the request, which adds to its `_meta`. */
  readonly params: JsonObject;
  readonly timeoutMs: number;
  /** The limit that a timeout error names; `timeoutMs` by default. */
  readonly limitMs?: number | undefined;
  /** HTTP headers of this request alone. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly options?: RequestOptions | undefined;
  /** Made by the gateway for itself, as for lists: no question of the server belongs to it. */
  readonly isOwn?: boolean | undefined;
  /** Turns the result into what the caller gets. What it throws becomes the error of the request. */
  readonly read: (result: JsonObject) => T;
}

/** Options of a request. */
export type RequestOptions = Pick<UpstreamCallOptions, "cancellation" | "client" | "onProgress">;

/** A request that the server may be working on, as the recipient of the server's questions and log messages. */
export interface OpenRequest {
  /** Undefined where a program made the request, or the command line. */
  readonly client: Client | undefined;
  readonly isOver: boolean;
  /** Aborted when the request is over. */
  readonly over: AbortSignal;
}

/** The requests of one connection, whatever carries them. */
export interface Requests {
  send<T>(request: RequestInit<T>): Promise<T>;
  /** Takes an answer or a progress notification; returns whether it belongs to one of these requests. */
  receive(message: JSONRPCMessage): boolean;
  /** Finds the requests that are pending, or were given up a moment ago: the one with this id or, without one, all. */
  find(id?: unknown): readonly OpenRequest[];
  /** Fails what is pending, and refuses what comes after. */
  end(): void;
}

/** Far above the ids of the SDK's client, and still within 32 bits, which some servers allow for an id. */
const FIRST_ID = 1_000_000_000;
/**
 * A server may go on with a request that was given up, and ask questions that belong to it. For so long no other client
 * is taken for the one it asks, unless it answers before.
 */
const GIVEN_UP_MS = 30_000;

/** Progress reports of a request that are passed on at once; of later ones, one in so many milliseconds is. */
const FREE_REPORTS = 100;
const REPORT_MS = 50;

const noOptions: RequestOptions = Object.freeze({});
const ignore = (): void => {};

interface Connection extends RequestsOptions {
  readonly pending: Map<unknown, McpRequest>;
  /** Given up, but perhaps still worked at. */
  readonly abandoned: Map<unknown, McpRequest>;
}

/**
 * Makes the requests of one connection. They do not go through the SDK's client: it checks a whole list against a schema,
 * so that one bad tool costs all, and takes longer than all the rest of a call.
 */
export function createRequests(options: RequestsOptions): Requests {
  const { name, transport, envelope } = options;
  const connection: Connection = { ...options, pending: new Map(), abandoned: new Map() };
  const { pending, abandoned } = connection;
  let last = FIRST_ID;
  let hasEnded = false;

  return {
    send<T>(init: RequestInit<T>): Promise<T> {
      const { method, params, headers, options = noOptions } = init;
      const { cancellation, onProgress } = options;
      if (cancellation?.cancelled) return Promise.reject(cancellation.cancelled);
      if (hasEnded) return Promise.reject(ended({ sent: false }));
      return new Promise((resolve, reject) => {
        const id = ++last;
        const request = new McpRequest(connection, id, init, resolve as (result: unknown) => void, reject);
        pending.set(id, request);
        if (envelope || onProgress) {
          const meta: JsonObject = { ...envelope, ...(params["_meta"] as JsonObject | undefined) };
          if (onProgress) meta["progressToken"] = id;
          params["_meta"] = meta;
        }
        const message = { jsonrpc: "2.0" as const, id, method, params };
        const sending = transport.endsBySignal
          ? transport.send(message, { requestSignal: request.over, ...(headers && { headers }) })
          : transport.send(message);
        sending.catch((thrown: unknown) => request.fail(thrown));
      });
    },
    receive(message) {
      if ("method" in message) return !("id" in message) && hear(message.method, message.params);
      const request = pending.get(message.id);
      if (!request) return abandoned.delete(message.id);
      if ("result" in message && isJsonObject(message.result)) request.answer(message.result);
      else request.fail(toAnswerError((message as { error: RpcErrorObject }).error));
      return true;
    },
    find(id) {
      const found =
        id === undefined
          ? [...pending.values(), ...abandoned.values()]
          : [pending.get(id) ?? abandoned.get(id)];
      return found.filter((request) => request?.isOwn === false) as OpenRequest[];
    },
    end() {
      hasEnded = true;
      for (const request of [...pending.values()]) request.fail(ended());
      abandoned.clear();
    },
  };

  function ended(data?: { readonly sent: false }): GatewayError {
    return connectionEnded({ name, closeReason: transport.closeReason }, data);
  }

  function hear(method: string, params: JsonObject = {}): boolean {
    if (method !== "notifications/progress") return false;
    const { progressToken, ...progress } = params;
    // Some servers turn the token into a string.
    const request = pending.get(Number(progressToken));
    if (request && isProgress(progress)) request.hear(progress);
    return request !== undefined;
  }
}

/** A class for speed: a call needs one object instead of a dozen functions. */
class McpRequest implements OpenRequest {
  options: RequestOptions;
  isOver = false;
  readonly isOwn: boolean;
  readonly id: number;
  readonly #connection: Connection;
  readonly #read: (result: JsonObject) => unknown;
  #resolve: (result: unknown) => void;
  #reject: (error: GatewayError) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over: AbortController | undefined;
  #reports = 0;
  #latest: Progress | undefined;
  #reporting: ReturnType<typeof setTimeout> | undefined;

  constructor(
    connection: Connection,
    id: number,
    { options = noOptions, isOwn = false, read, timeoutMs, limitMs = timeoutMs }: RequestInit<unknown>,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.#connection = connection;
    this.id = id;
    this.options = options;
    this.isOwn = isOwn;
    this.#read = read;
    this.#resolve = resolve;
    this.#reject = reject;
    this.options.cancellation?.onCancel(() => this.#cancel());
    if (timeoutMs >= LONGEST_TIMER_MS) return;
    this.#startTimer(Math.ceil(timeoutMs), limitMs, connection.turns?.waitedMs ?? 0);
  }

  /** A request that waited for its turn gets that time on top. */
  #startTimer(ms: number, limitMs: number, waitedMs: number): void {
    const { name, turns } = this.#connection;
    this.#timer = setTimeout(() => {
      const moreMs = Math.ceil((turns?.waitedMs ?? 0) - waitedMs);
      if (moreMs > 0) this.#startTimer(moreMs, limitMs, turns?.waitedMs ?? 0);
      else this.#giveUp(requestTimeout(name, limitMs), "It took too long.");
    }, ms);
  }

  get client(): Client | undefined {
    return this.options.client;
  }

  /** Made on first use: few servers ask anything, and only HTTP needs a signal. */
  get over(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.isOver && !this.#over.signal.aborted) this.#over.abort();
    return this.#over.signal;
  }

  /** Passes progress on. Of a flood only the latest of each moment is: every report costs the client, and all others. */
  hear(progress: Progress): void {
    if (++this.#reports <= FREE_REPORTS) {
      this.options.onProgress?.(progress);
      return;
    }
    this.#latest = progress;
    this.#reporting ??= setTimeout(() => {
      this.#reporting = undefined;
      this.#reportLatest();
    }, REPORT_MS);
  }

  #reportLatest(): void {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest) this.options.onProgress?.(latest);
  }

  answer(result: JsonObject): void {
    this.#reportLatest();
    this.#end();
    try {
      this.#resolve(this.#read(this.#plain(result)));
    } catch (thrown) {
      this.#reject(thrown as GatewayError);
    }
    this.#forget();
  }

  fail(thrown: unknown): void {
    if (this.isOver) return;
    this.#end();
    this.#reject(requestError(thrown, this.#connection, this.isOwn));
    this.#forget();
  }

  /** Leaves out `resultType` unless it says that the result is a question, which only the modern protocol has. */
  #plain(result: JsonObject): JsonObject {
    const { resultType } = result;
    const isQuestion = resultType === "input_required" && this.#connection.envelope !== undefined;
    if (resultType === undefined || isQuestion) return result;
    const { resultType: _, ...rest } = result;
    return rest;
  }

  /** Outgrown tables of the map hold the request until old objects are collected, and behind this is a whole call. */
  #forget(): void {
    this.options = noOptions;
    this.#resolve = this.#reject = ignore;
  }

  #cancel(): void {
    const reason = this.options.cancellation?.cancelled;
    // The server is told that a request is taken back, not why: the reason may be private to the caller.
    if (reason && !this.isOver) this.#giveUp(reason, "The caller no longer needs it.");
  }

  #giveUp(error: GatewayError, reason: string): void {
    const { abandoned, envelope, transport } = this.#connection;
    this.#end();
    if (!this.isOwn) {
      // The client of a call cannot be looked up any more once the call is over.
      void this.client;
      abandoned.set(this.id, this);
      setTimeout(() => abandoned.delete(this.id), GIVEN_UP_MS).unref?.();
    }
    // In the modern protocol the end of its stream takes a request back.
    if (!envelope || !transport.hasPerRequestStream) {
      const params = { requestId: this.id, reason, ...(envelope && { _meta: envelope }) };
      transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }).catch(ignore);
    }
    this.#reject(error);
  }

  #end(): void {
    this.#connection.pending.delete(this.id);
    this.isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#reporting);
    this.#latest = undefined;
    this.#over?.abort();
  }
}

function isProgress(value: JsonObject): value is JsonObject & Progress {
  const { progress, total, message } = value;
  return (
    typeof progress === "number" &&
    (total === undefined || typeof total === "number") &&
    (message === undefined || typeof message === "string")
  );
}
