import type { Call, JsonObject } from "../../core/mod.ts";

/** What a client can be asked for while one of its requests is under way. */
export type ClientCapability = "elicitation" | "sampling" | "roots";

/** The client that a call came from, as far as it can be spoken to while the call runs. */
export interface Client {
  readonly era: "legacy" | "modern";
  /** What it calls itself, where it said so. */
  readonly info?: { readonly name: string; readonly version?: string | undefined } | undefined;
  /** What it said it can do, as it said it. */
  readonly capabilities: Readonly<JsonObject>;
  /** Whether it can be asked for something. */
  can(capability: ClientCapability): boolean;
  /**
   * Sends it a request (`elicitation/create`, `sampling/createMessage`, `roots/list`) and waits for the result. In the
   * newer era the request that is under way is answered with the question, and goes on when the client comes back.
   * Rejects with a `GatewayError`: `CLIENT_CANNOT` where it never said that it can, `CLIENT_LEFT` where it has gone.
   */
  ask(
    method: string,
    params: Readonly<JsonObject>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<JsonObject>;
  /** Sends it a notice that belongs to the request that is under way: `notifications/message`, say. */
  tell(method: string, params: Readonly<JsonObject>): void;
}

/** The clients behind calls. */
export interface Clients {
  /** The client of a call, or of the call that it is made for; nobody where a program or the command line calls. */
  of(call: Call): Client | undefined;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by whoever serves clients. */
    clients?: Clients;
  }
}
