import type { JsonObject, Progress, RejectedTool, ToolDefinition, ToolResult } from "../../core/mod.ts";

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
}

/** What travels with a call. */
export interface UpstreamCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Passed on as the request's `_meta`. */
  readonly meta?: Readonly<JsonObject> | undefined;
  /** The call fails with `TIMEOUT` after this long, whatever the server reports meanwhile. */
  readonly timeoutMs?: number | undefined;
}

/** What a connection tells whoever opened it. */
export interface UpstreamEvents {
  /** The server's lists have changed. */
  onListChanged?(): void;
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
  /** Ends the connection and, where it is a process, the process and its children. Never rejects. */
  close(): Promise<void>;
}
