import type { Call, CallInput, JsonObject, Progress } from "../../core/mod.ts";
import type { Client, Clients } from "../serve/client.ts";
import type { Asking } from "./questions.ts";
import type { UpstreamCallOptions } from "./upstream.ts";

/**
 * What travels with a call of the pipeline to its server. A class, so that its signal and its client are made only for
 * whoever looks at them: few do, and both cost more than the way to the server.
 */
export class ToolCall implements UpstreamCallOptions, Asking {
  readonly server: string;
  readonly meta: Readonly<JsonObject>;
  readonly timeoutMs: number | undefined;
  readonly input: CallInput | undefined;
  readonly cancellation: Call;
  readonly #clients: Clients | undefined;
  #client: Client | undefined;

  constructor(
    call: Call,
    server: string,
    meta: Readonly<JsonObject>,
    timeoutMs: number | undefined,
    clients: Clients | undefined,
  ) {
    this.cancellation = call;
    this.server = server;
    this.meta = meta;
    this.input = call.input;
    this.timeoutMs = timeoutMs;
    this.#clients = clients;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  get client(): Client | undefined {
    this.#client ??= this.#clients?.of(this.cancellation);
    return this.#client;
  }

  readonly onProgress = (progress: Progress): void => this.cancellation.report(progress);

  /** The same call with answers to what its server asked. */
  with(input: CallInput | undefined): UpstreamCallOptions {
    if (input === this.input) return this;
    const { cancellation, meta, timeoutMs, onProgress, signal, client } = this;
    return { cancellation, meta, timeoutMs, onProgress, signal, client, input };
  }
}
