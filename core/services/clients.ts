import type { Call, CallNotes } from "../call.ts";
import { defineError, type ErrorKind } from "../errors.ts";
import type { Gateway } from "../gateway.ts";
import type { Exposure } from "../preset.ts";
import type { JsonObject } from "../tool.ts";

/** What a client can be asked for while one of its requests is under way. */
export type ClientCapability = "elicitation" | "sampling" | "roots";

/** A client is to be asked for something that it never said it can do; `data.requiredCapabilities` says what. */
export const CLIENT_CANNOT: ErrorKind = defineError("CLIENT_CANNOT", { rpc: -32021 });

/** Nobody is there any more who could answer: the client has gone, or its request is answered already. */
export const CLIENT_LEFT: ErrorKind = defineError("CLIENT_LEFT");

/** The client did not answer a question in time. To call the tool again would only ask the same once more. */
export const CLIENT_SILENT: ErrorKind = defineError("CLIENT_SILENT", { spec: "TOOL_EXECUTION_TIMEOUT" });

/** The client answered a question with an error, which is in `data` as `code` and `message`. */
export const CLIENT_FAILED: ErrorKind = defineError("CLIENT_FAILED");

/** More is asked at once than the gateway keeps in mind. */
export const QUESTIONS_FULL: ErrorKind = defineError("QUESTIONS_FULL");

/** The client that a call came from, as far as it can be spoken to while the call runs. */
export interface Client {
  readonly protocol: "legacy" | "modern";
  /** What it calls itself, where it said so. */
  readonly info?: { readonly name: string; readonly version?: string | undefined } | undefined;
  /** What it said it can do, as it said it. */
  readonly capabilities: Readonly<JsonObject>;
  /** The same for all requests of one client; not there in the newer era, where each request stands for itself. */
  readonly session?: object | undefined;
  /** The level of messages below which it wants to hear nothing, where it said so. */
  readonly logLevel?: string | undefined;
  /**
   * Whether it can be asked for something now. `elicitation` means a form; whether it can open a URL stands in
   * `capabilities.elicitation.url`, and `ask` looks there. False once its request is answered: with a link to the
   * result of a long call, say.
   */
  can(capability: ClientCapability): boolean;
  /**
   * Sends it a request (`elicitation/create`, `sampling/createMessage`, `roots/list`) and waits for the result. In the
   * newer era the request that is under way is answered with the question, and goes on when the client comes back; what
   * is asked without waiting in between is asked together. The result is the client's, and not checked.
   * Rejects with a `GatewayError`: `CLIENT_CANNOT` where it never said that it can, `CLIENT_LEFT` where it has gone,
   * `CLIENT_FAILED` where it answered with an error, `CLIENT_SILENT` where it did not answer, `QUESTIONS_FULL` where too much
   * is asked at once, and with why the call was cancelled.
   */
  ask(
    method: string,
    params: Readonly<JsonObject>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<JsonObject>;
  /**
   * Sends it a notice that belongs to the request that is under way: `notifications/message`, say, which it gets where
   * its level is at least the one that the client wants. Nothing happens where nobody is there any more. A plugin that
   * sends messages says so when it is set up, with `clients.offerLogging()`, so that clients hear that there are any.
   */
  notify(method: string, params: Readonly<JsonObject>): void;
}

/**
 * The clients behind calls. Where a resource is read or a prompt is got, the options hold the client, as do those of a
 * completion in the older era; in the newer one nobody can be asked anything then.
 */
export interface Clients {
  /**
   * The client of a call, or of the call that it is made for; nobody where a program or the command line calls. What it
   * is asked ends with the call, and the time that it takes to answer is not the tool's.
   */
  get(call: Call): Client | undefined;
  /** What a call that is made for a client has to be given as its notes, so that the client is found again. */
  getNotes(client: Client): CallNotes;
  /** Whether there may be several at once, so that what a server keeps of one must not be asked for. */
  readonly isShared?: boolean | undefined;
  /** Says that clients may be told messages: they hear of that when they connect. */
  offerLogging(): void;
  /** Whether a plugin has said so. */
  readonly hasLogging: boolean;
}

/** Says that clients may be told messages; nothing happens where no client is served. */
export function offerLogging({ services }: Pick<Gateway, "services">): void {
  services.clients?.offerLogging();
}

/** Decides what each client sees. Provided by the presets; without it, every client sees the tools of the preset. */
export interface ExposurePolicy {
  get(client: Client["info"]): Exposure;
}
