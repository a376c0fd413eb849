import type {
  CallInput,
  Cancellation,
  JsonObject,
  Progress,
  RejectedTool,
  ToolDefinition,
  ToolResult,
} from "../../core/mod.ts";
import type { Client } from "../serve/client.ts";

/** What a server offers besides its tools, as it said it. */
export interface Listing {
  readonly tools: readonly ToolDefinition[];
  /** Tools that could not be read, and why. */
  readonly rejected: readonly RejectedTool[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  readonly prompts: readonly JsonObject[];
}

/** Who a server says it is. */
export interface UpstreamInfo {
  readonly name?: string | undefined;
  readonly title?: string | undefined;
  readonly version?: string | undefined;
  readonly instructions?: string | undefined;
  readonly protocolVersion?: string | undefined;
  /** What it can do, as it said it. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
}

/** What travels with a request. */
export interface UpstreamRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Passed on as the request's `_meta`. */
  readonly meta?: Readonly<JsonObject> | undefined;
  /** The request fails with `TIMEOUT` after this long, whatever the server reports meanwhile. */
  readonly timeoutMs?: number | undefined;
  /** Who the request is made for: what its server asks meanwhile, this one is asked. */
  readonly client?: Client | undefined;
  /** Answers to what the server asked when the same request was made before. */
  readonly input?: CallInput | undefined;
}

/** What travels with a call. */
export interface UpstreamCallOptions extends UpstreamRequestOptions {
  /** The same as `signal`, for whoever would rather have this. */
  readonly cancellation?: Pick<Cancellation, "cancelled" | "onCancel" | "offCancel"> | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What a server can be asked for besides its lists and tools. */
export type UpstreamMethod = "resources/read" | "prompts/get" | "completion/complete";

/** What a connection tells whoever opened it. */
export interface UpstreamEvents {
  /** The server's lists have changed. */
  onListChanged?(): void;
  /** Something that was subscribed to has changed. */
  onResourceUpdated?(uri: string): void;
  /** The connection has ended, and not because `close` was called. */
  onClosed?(reason: string): void;
}

/** An open connection to one server. */
export interface Upstream {
  readonly info: UpstreamInfo;
  /** Reads the server's lists. One bad tool does not cost the others. */
  list(options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<Listing>;
  /** Calls a tool. Rejects with a `GatewayError`; a failure of the tool itself is a result with `isError`. */
  call(name: string, args: JsonObject, options?: UpstreamCallOptions): Promise<ToolResult>;
  /** Makes another request, and returns the result as it came; not there where a server has nothing but tools. */
  request?(
    method: UpstreamMethod,
    params: Readonly<JsonObject>,
    options?: UpstreamRequestOptions,
  ): Promise<JsonObject>;
  /** Wants to hear of changes of these resources from now on, and of no others. */
  watch?(uris: readonly string[]): Promise<void>;
  /** Ends the connection and, where it is a process, the process and its children. Never rejects. */
  close(): Promise<void>;
}
