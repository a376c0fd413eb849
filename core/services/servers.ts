import {
  type CallInput,
  type Cancellation,
  defineError,
  type ErrorKind,
  GatewayError,
  type JsonObject,
  type Progress,
  type RejectedTool,
  type Tool,
  type ToolDefinition,
  type ToolResult,
} from "../mod.ts";
import type { Client } from "./clients.ts";
import type { ServerConfig } from "./sources.ts";

const connection = { spec: "SERVER_CONNECTION_ERROR", retry: true };

export const SPAWN_FAILED: ErrorKind = defineError("SPAWN_FAILED", {
  ...connection,
  retry: false,
  description: "The command of a server could not be started.",
});
export const CONNECT_TIMEOUT: ErrorKind = defineError("CONNECT_TIMEOUT", {
  ...connection,
  description: "A server did not finish its handshake in time.",
});
export const CONNECT_FAILED: ErrorKind = defineError("CONNECT_FAILED", {
  ...connection,
  description: "A server could not be reached.",
});
export const TLS_ERROR: ErrorKind = defineError("TLS_ERROR", {
  ...connection,
  retry: false,
  description: "A server could not prove who it is, or cannot speak securely.",
});
export const UPSTREAM_CLOSED: ErrorKind = defineError("UPSTREAM_CLOSED", {
  ...connection,
  description: "A connection ended before an answer came.",
});
export const UPSTREAM_STALLED: ErrorKind = defineError("UPSTREAM_STALLED", {
  ...connection,
  description: "A server does not read what is sent to it, or does not answer anything, and was ended.",
});
export const UPSTREAM_PROTOCOL: ErrorKind = defineError("UPSTREAM_PROTOCOL", {
  description: "A server broke the protocol.",
});
export const UPSTREAM_ERROR: ErrorKind = defineError("UPSTREAM_ERROR", {
  description: "A server answered a request with an error of the protocol.",
});
export const QUESTION_REFUSED: ErrorKind = defineError("QUESTION_REFUSED", {
  description: "A server asks for input, and no client can be asked, or it is not certain which one.",
});
export const RESPONSE_TOO_LARGE: ErrorKind = defineError("RESPONSE_TOO_LARGE", {
  description: "An answer was larger than allowed.",
});
export const RESPONSE_TOO_DEEP: ErrorKind = defineError("RESPONSE_TOO_DEEP", {
  description: "An answer was nested deeper than allowed.",
});
export const NEEDS_AUTH: ErrorKind = defineError("NEEDS_AUTH", {
  spec: "SERVER_CONNECTION_ERROR",
  description: "A server asks for credentials that are not there.",
});
export const NEEDS_APPROVAL: ErrorKind = defineError("NEEDS_APPROVAL", {
  spec: "SERVER_CONNECTION_ERROR",
  exit: 4,
  description: "A server waits for approval by the user.",
});
export const MISSING_VARIABLE: ErrorKind = defineError("MISSING_VARIABLE", {
  spec: "CONFIGURATION_ERROR",
  description: "A definition names a variable that is not set.",
});

/** Returns whether a request failed because its connection had ended before the request was sent. */
export function isUnsent(thrown: unknown): boolean {
  return GatewayError.is(thrown) && thrown.code === UPSTREAM_CLOSED.code && thrown.data["sent"] === false;
}

/** The lists of a server, as the server sent them. */
export interface Listing {
  readonly tools: readonly ToolDefinition[];
  /** Tools that could not be read, and why. */
  readonly rejected: readonly RejectedTool[];
  /** Those of the rejected tools of which only the input schema cannot be read, with one that allows any object. */
  readonly repaired?: readonly ToolDefinition[] | undefined;
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
}

/** Description that a server gives of itself. */
export interface UpstreamInfo {
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly version?: string | undefined;
  readonly instructions?: string | undefined;
  readonly protocolVersion?: string | undefined;
  /** Capabilities as the server sent them. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
}

/** Options of a request to a server. */
export interface UpstreamRequestOptions {
  readonly cancellation?: Pick<Cancellation, "cancelled" | "onCancel" | "offCancel"> | undefined;
  /** Sent as the `_meta` of the request. */
  readonly meta?: Readonly<JsonObject> | undefined;
  /** Time after which the request fails with `TIMEOUT`, progress or not. */
  readonly timeoutMs?: number | undefined;
  /** The client that the request is made for: it is asked when the server asks for input. */
  readonly client?: Client | undefined;
  /** Answers to the input that the server asked for when the request was made before. */
  readonly input?: CallInput | undefined;
}

/** Options of a tool call. */
export interface UpstreamCallOptions extends UpstreamRequestOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Requests that a server takes besides those for lists and tools. */
export type UpstreamMethod = "resources/read" | "prompts/get" | "completion/complete";

/** Options of reading the lists of a server. */
export interface UpstreamListOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Rate limit of these requests, where the connection has none. */
  readonly turns?: RequestTurns | undefined;
}

/** Events of an open connection. */
export interface UpstreamEvents {
  /** The server's lists have changed. */
  onListChanged?(): void;
  /** A resource that was subscribed to has changed. */
  onResourceUpdated?(uri: string): void;
  /** The connection has ended without a call of `close`. */
  onClosed?(reason: string): void;
}

/** A handle on a connection to one server. */
export interface ServerHandle {
  readonly info: UpstreamInfo;
  /** Whether the handle is on a connection that was open before and outlives the handle. */
  readonly isShared?: boolean | undefined;
  /** Reads the server's lists. A tool that cannot be read is rejected; the others are kept. */
  list(options?: UpstreamListOptions): Promise<Listing>;
  /** Calls a tool. Rejects with a `GatewayError`; a failure of the tool itself is a result with `isError`. */
  call(name: string, args: JsonObject, options?: UpstreamCallOptions): Promise<ToolResult>;
  /** Closes the handle. A temporary connection ends with it, and so do its process and children. Never rejects. */
  close(): Promise<void>;
}

/** An open connection to one server. */
export interface Upstream extends ServerHandle {
  /** Result of the handshake, which makes the next one shorter. */
  readonly prior?: unknown;
  /** Makes another request and returns its result unchanged; absent if the server has nothing but tools. */
  request?(
    method: UpstreamMethod,
    params: Readonly<JsonObject>,
    options?: UpstreamRequestOptions,
  ): Promise<JsonObject>;
  /** Subscribes to these resources and no others. */
  watch?(uris: readonly string[]): Promise<void>;
  /** Returns when the server was last heard, on the clock of `performance.now()`. */
  heardAt?(): number;
  /** Rejects if the server does not answer within this time; absent where servers cannot be asked that. */
  ping?(timeoutMs: number): Promise<void>;
}

/** Connects to servers of one kind: its name is the `type` of their connection, or their entry names it as `driver`. */
export interface UpstreamDriver {
  /** Opens a connection. The variables of the definition are filled in already. */
  connect(config: ServerConfig, options: UpstreamConnectOptions): Promise<Upstream>;
  /** Loads the modules that connections need, ahead of the first connection. */
  load?(): Promise<unknown>;
}

/** The rate limit of the requests of one connection. */
export interface RequestTurns {
  /** Waits until one more request may be sent. */
  take(): Promise<void>;
  /** Milliseconds that requests have waited so far. Time limits of the server do not count them. */
  readonly waitedMs: number;
}

/** Options of a driver's connection attempt. */
export interface UpstreamConnectOptions {
  readonly events: UpstreamEvents;
  /** `prior` of an earlier connection to the same server. */
  readonly prior: unknown;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  /** Client capabilities that a server of the legacy protocol is told of. */
  readonly capabilities: Readonly<JsonObject>;
  /** Bearer token for a server that asks for one and has no other credential. */
  readonly spareToken?: string | undefined;
  /** Rate limit of the connection; none by default. */
  readonly turns?: RequestTurns | undefined;
}

/** Options of {@link Servers.open}. */
export interface ServerOpenOptions {
  /** Headers that replace those of the definition, letter by letter. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Rate limit of the requests that the handle makes; none by default. */
  readonly turns?: RequestTurns | undefined;
  /** Source of the variables that the definition names; "none" for a definition that the user did not write. */
  readonly env?: "none" | "user" | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** State of a server. */
export type ServerState = "connected" | "disconnected" | "error" | "needs-approval" | "needs-auth";

/** State of a server, with its last known listing. */
export interface ServerStatus {
  readonly name: string;
  readonly status: ServerState;
  /** Reason for the state, as a sentence. */
  readonly reason: string;
  /** Kind of the error that the state comes from. */
  readonly failure?: ErrorKind | undefined;
  readonly config: ServerConfig;
  readonly info: UpstreamInfo | undefined;
  /** The lists besides the tools, which are in the catalog. */
  readonly listing: Omit<Listing, "tools"> | undefined;
  /** Time of the last listing, in milliseconds since 1970. */
  readonly listedAt: number | undefined;
}

/** Listeners for changes of servers. */
export interface ServerEvents {
  /** The capabilities, resources or prompts of a server are known, or have changed. */
  offer?(server: string): void;
  /** The server's own listing differs from the known one. */
  listed?(server: string, listing: Readonly<JsonObject>): void;
  /** A resource that is watched has changed. */
  resourceUpdated?(server: string, uri: string): void;
}

/** The servers behind the gateway. */
export interface Servers {
  statuses(): readonly ServerStatus[];
  status(server: string): ServerStatus | undefined;
  /** Asks one server, or all, for their lists. Failures are in the status. `limitMs` bounds the start and the listing. */
  refresh(server?: string, options?: { readonly limitMs?: number }): Promise<void>;
  /**
   * Notes that the lists are used: those that are older than the cache keeps them are read again, in the background.
   */
  refreshStale(): void;
  /** Settles once no server is asked for its lists; with a name, once the listing of that server is in the catalog. */
  settled(server?: string): Promise<void>;
  /** Checks again whether a server that needs approval may be used, and if so asks it for its lists. */
  recheck(server: string): Promise<void>;
  /** Adds a server while the gateway runs, and asks it for its lists. A server of that name and definition stays. */
  add(config: ServerConfig): Promise<void>;
  /** Takes the listing that another gateway has read from a server of the same definition, if it is newer. */
  adopt(server: string, listing: unknown): Promise<void>;
  /** Subscribes to these resources of a server, and to no others. */
  watch(server: string, uris: readonly string[]): Promise<void>;
  /**
   * Opens a handle on a server: on the pooled connection, if the definition is that of a connected server and the
   * options change nothing, else on a temporary connection that ends when the handle is closed.
   */
  open(config: ServerConfig, options?: ServerOpenOptions): Promise<ServerHandle>;
  /** Describes a request as a tool, so that all rules for calls apply to it. */
  requestTool(server: string, method: UpstreamMethod): Tool;
  /** Listens to changes. To be called in a plugin's `setup`, before any server is asked. */
  on(events: ServerEvents): void;
}

/** Reason why a server must not be connected. */
export interface Held {
  readonly status: ServerState;
  readonly reason: string;
}

declare module "../tool.ts" {
  interface Tool {
    /** The request that a call of this tool makes, if it is not a tool of its server. Such a tool is in no catalog. */
    readonly request?: UpstreamMethod;
  }
}
