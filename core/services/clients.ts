import type { Call, CallNotes } from "../call.ts";
import { defineError, type ErrorKind } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import type { Exposure } from "../preset.ts";
import type { JsonObject } from "../tool.ts";

/** A kind of request that a client may answer while one of its own requests is pending. */
export type ClientCapability = "elicitation" | "sampling" | "roots";

export const CLIENT_CANNOT: ErrorKind = defineError("CLIENT_CANNOT", {
  rpc: -32021,
  description: "The client lacks a capability that a request needs; `data.requiredCapabilities` names it.",
});

export const CLIENT_LEFT: ErrorKind = defineError("CLIENT_LEFT", {
  description: "The client cannot answer any more: it has disconnected, or its request is answered already.",
});

export const CLIENT_SILENT: ErrorKind = defineError("CLIENT_SILENT", {
  spec: "TOOL_EXECUTION_TIMEOUT",
  description:
    "The client did not answer a question in time. Calling the tool again would only repeat the question.",
});

export const CLIENT_FAILED: ErrorKind = defineError("CLIENT_FAILED", {
  description: "The client answered a question with an error, which is in `data` as `code` and `message`.",
});

export const QUESTIONS_FULL: ErrorKind = defineError("QUESTIONS_FULL", {
  description: "The limit of pending questions is reached.",
});

/** The client of a call, which can be asked and notified while the call runs. */
export interface Client {
  readonly protocol: "legacy" | "modern";
  /** Name and version of the client, if it sent them. */
  readonly info?: { readonly name: string; readonly version?: string | undefined } | undefined;
  /** Capabilities as the client sent them. */
  readonly capabilities: Readonly<JsonObject>;
  /** Identifies the client session; absent in the modern protocol, which has no sessions. */
  readonly session?: object | undefined;
  /** Minimal level of log messages, if the client set one. */
  readonly logLevel?: string | undefined;
  /**
   * Returns whether the client can be asked now. `elicitation` means a form; whether the client can open a URL is in
   * `capabilities.elicitation.url`, which `ask` checks. False once its request is answered, for example with a link to
   * the result of a long call.
   */
  can(capability: ClientCapability): boolean;
  /**
   * Sends a request (`elicitation/create`, `sampling/createMessage`, `roots/list`) and waits for the result. In the modern
   * protocol the pending request is answered with the question, and continues when the client repeats it; questions
   * without a wait in between are asked together. The result is the client's and not checked. Rejects with a
   * `GatewayError`: `CLIENT_CANNOT` if the client lacks the capability, `CLIENT_LEFT` if it has disconnected,
   * `CLIENT_FAILED` if it answered with an error, `CLIENT_SILENT` if it did not answer, `QUESTIONS_FULL` if too many
   * questions are pending, or with the reason why the call was cancelled.
   */
  ask(
    method: string,
    params: Readonly<JsonObject>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<JsonObject>;
  /**
   * Sends a notification that belongs to the pending request, such as `notifications/message`, which the client gets if its
   * level is high enough. Does nothing if the client has disconnected. A plugin that sends messages calls
   * `clients.offerLogging()` in its set-up, so that clients are told of the capability.
   */
  notify(method: string, params: Readonly<JsonObject>): void;
}

/**
 * The clients of calls. For resources and prompts, the options hold the client, as do those of a completion in the legacy
 * protocol; in the modern protocol a completion cannot ask.
 */
export interface Clients {
  /**
   * Returns the client of a call, or of its parent; undefined if a program or the command line calls. Questions to it end
   * with the call, and the time that it takes to answer does not count for the tool.
   */
  get(call: Call): Client | undefined;
  /** Returns the notes that tie a call to a client. */
  getNotes(client: Client): CallNotes;
  /** Whether there may be several clients at once, so that servers must not keep data of one. */
  readonly isShared?: boolean | undefined;
  /** Announces log messages to clients that connect. */
  offerLogging(): void;
  /** Whether a plugin has called {@link offerLogging}. */
  readonly hasLogging: boolean;
}

/** Announces log messages to clients; does nothing if no client is served. */
export function offerLogging({ services }: Pick<Gateway, "services">): void {
  services.clients?.offerLogging();
}

/** Decides which tools each client gets. Provided by the presets; without it, every client gets those of the preset. */
export interface ExposurePolicy {
  get(client: Client["info"]): Exposure;
}
