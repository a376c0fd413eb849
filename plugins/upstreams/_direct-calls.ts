import { Bag } from "../../core/bag.ts";
import {
  cancelledBy,
  type GatewayError,
  type JsonObject,
  type Progress,
  type ToolResult,
} from "../../core/mod.ts";
import { faultOf } from "./_foreign-json.ts";
import { LINGER_MS, type Owner } from "./_owner.ts";
import type { Exchange, StdioTransport } from "./stdio-transport.ts";
import type { UpstreamCallOptions } from "./upstream.ts";

/** What calls that go past the client need to know of their connection. */
export interface DirectParts {
  readonly transport: Pick<StdioTransport, "send" | "exchange">;
  /** What every message of the newer era says of whoever sends it; nothing in the older era. */
  readonly envelope: Readonly<JsonObject> | undefined;
  /** Says in our terms why a request failed. */
  readonly explain: (thrown: unknown) => GatewayError;
  /** The error of a request that took too long. */
  readonly late: (ms: number) => GatewayError;
}

/** What travels with such a call. */
export type DirectOptions = Pick<UpstreamCallOptions, "cancellation" | "client" | "onProgress" | "signal">;

/** Calls of tools that are sent and answered without the SDK's client, which takes longer than all the rest of a call. */
export interface DirectCalls {
  /** Makes a call with params that are its own, and returns its result as it came, but for what only says that it is one. */
  call(params: JsonObject, options: DirectOptions, timeoutMs: number): Promise<ToolResult>;
  /** Takes a notice of how far a request is; returns whether it is one of these. */
  hear(method: string, params: JsonObject): boolean;
  /** Whose requests are under way, or were given up a moment ago. */
  owners(): readonly Owner[];
  /** The connection is over, and with it all of them. */
  end(error: () => GatewayError): void;
}

/** Far from where the client counts, but within what a server can hold that takes ids for numbers of 32 bits. */
const FIRST_ID = 1_000_000_000;
/** The most that a timer can hold; whoever allows that much wants none. */
const LONGEST_MS = 2 ** 31 - 1;

const nothing: DirectOptions = Object.freeze({});
const ignore = (): void => {};

interface Connection extends DirectParts {
  /** Those under way: in no map, since what was in one lives on for long. */
  readonly requests: Bag<DirectRequest>;
  /** Given up, but perhaps still worked at. */
  readonly abandoned: Set<DirectRequest>;
}

/** Makes the requests of one connection. */
export function directCalls(parts: DirectParts): DirectCalls {
  const { transport, envelope } = parts;
  const connection: Connection = { ...parts, requests: new Bag(), abandoned: new Set() };
  const { requests, abandoned } = connection;
  let last = FIRST_ID;

  return {
    call: (params, options, timeoutMs) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        const request = new DirectRequest(connection, id, options, resolve, reject);
        request.begin(timeoutMs);
        if (envelope) params["_meta"] = { ...envelope, ...(params["_meta"] as object | undefined) };
        if (options.onProgress)
          params["_meta"] = { ...(params["_meta"] as object | undefined), progressToken: id };
        transport.exchange({ jsonrpc: "2.0", id, method: "tools/call", params }, request);
      }),
    hear(method, params) {
      if (method !== "notifications/progress") return false;
      const { progressToken, ...progress } = params;
      // Some servers make a text of it.
      const request = [...requests].find(({ id }) => id === Number(progressToken));
      if (request && isProgress(progress)) request.options.onProgress?.(progress);
      return request !== undefined;
    },
    owners: () => [...requests, ...abandoned],
    end(error) {
      for (const request of [...requests]) request.failed(error());
      abandoned.clear();
    },
  };
}

/** A class for speed: a call needs one object instead of a dozen functions. */
class DirectRequest implements Owner, Exchange {
  options: DirectOptions;
  isOver = false;
  readonly id: number;
  readonly #connection: Connection;
  readonly #place: number;
  #resolve: (result: ToolResult) => void;
  #reject: (error: GatewayError) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over: AbortController | undefined;

  constructor(
    connection: Connection,
    id: number,
    options: DirectOptions,
    resolve: (result: ToolResult) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.#connection = connection;
    this.#place = connection.requests.add(this);
    this.id = id;
    this.options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** From now on it can be cancelled, and be late. */
  begin(timeoutMs: number): void {
    const { cancellation } = this.options;
    if (cancellation) cancellation.onCancel(() => this.handleEvent());
    else this.options.signal?.addEventListener("abort", this);
    if (timeoutMs >= LONGEST_MS) return;
    const late = (): void => this.#giveUp(this.#connection.late(timeoutMs), "It took too long.");
    this.#timer = setTimeout(late, Math.ceil(timeoutMs));
  }

  get client(): Owner["client"] {
    return this.options.client;
  }

  /** Made on first use: few servers ask anything. */
  get over(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.isOver && !this.#over.signal.aborted) this.#over.abort();
    return this.#over.signal;
  }

  answered(result: JsonObject): void {
    this.#end();
    const fault = faultOf(result);
    if (fault) this.#reject(fault);
    else this.#resolve(withContent(this.#plain(result)));
    this.#forget();
  }

  failed(thrown: unknown): void {
    this.#end();
    this.#reject(this.#connection.explain(thrown));
    this.#forget();
  }

  /** Only the newer era knows results that are questions. */
  #plain(result: JsonObject): JsonObject {
    const { resultType } = result;
    const isQuestion = resultType === "input_required" && this.#connection.envelope !== undefined;
    if (resultType === undefined || isQuestion) return result;
    const { resultType: _, ...rest } = result;
    return rest;
  }

  /** The map of the transport may hold it for long, and behind this is all of a call. */
  #forget(): void {
    this.options = nothing;
    this.#resolve = this.#reject = ignore;
  }

  /** The caller has given up. */
  handleEvent(): void {
    if (this.isOver) return;
    const { cancellation, signal } = this.options;
    // The server is told that a request is taken back, not why: that may be none of its business.
    this.#giveUp(
      cancellation?.cancelled ?? cancelledBy(signal as AbortSignal),
      "The caller no longer needs it.",
    );
  }

  #giveUp(error: GatewayError, reason: string): void {
    const { abandoned, envelope, transport } = this.#connection;
    this.#end();
    // Whose it was cannot be found out later.
    void this.client;
    abandoned.add(this);
    setTimeout(() => abandoned.delete(this), LINGER_MS).unref?.();
    const params = { requestId: this.id, reason, ...(envelope && { _meta: envelope }) };
    transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }).catch(() => {});
    this.#reject(error);
  }

  #end(): void {
    if (!this.isOver) this.#connection.requests.remove(this.#place);
    this.isOver = true;
    clearTimeout(this.#timer);
    if (!this.options.cancellation) this.options.signal?.removeEventListener("abort", this);
    this.#over?.abort();
  }
}

/** The result of a tool, as whoever called it counts on it. */
export function withContent(result: JsonObject): ToolResult {
  return Array.isArray(result["content"]) ? (result as JsonObject & ToolResult) : { ...result, content: [] };
}

function isProgress(value: JsonObject): value is JsonObject & Progress {
  const { progress, total, message } = value;
  return (
    typeof progress === "number" &&
    (total === undefined || typeof total === "number") &&
    (message === undefined || typeof message === "string")
  );
}
