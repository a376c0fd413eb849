import type { JsonObject, ToolDefinition } from "../mod.ts";

/** Authentication of a request. */
export type AuthType = "none" | "bearer" | "basic" | "apiKey" | "oauth2";

/** Facts about one operation beyond those of a tool. */
export interface Operation {
  /** HTTP method in upper case. */
  readonly method: string;
  /** Path with its parameters in braces, as in the document. */
  readonly path: string;
  /** The first of its tags. */
  readonly category?: string | undefined;
  readonly auth: AuthType;
  /** Arguments that the document gives as examples. */
  readonly examples: readonly JsonObject[];
  /** A short answer that the document gives as an example. */
  readonly exampleAnswer?: unknown;
  /** The failures that the document describes. */
  readonly errors: readonly OperationError[];
  /** The header in which the operation takes a key that makes repeating it safe. */
  readonly idempotencyHeader?: string | undefined;
  /** Whether the operator's config says that the API takes that key. A document that claims it is not enough. */
  readonly canResend?: boolean | undefined;
  readonly deprecated: boolean;
  /** Hash of where and how a call is sent: method, path, server and security. Part of the pinned definition. */
  readonly contract?: string | undefined;
}

/** A failure that a document describes. */
export interface OperationError {
  /** The HTTP status, or `default`. */
  readonly status: string;
  readonly meaning: string;
}

/** An API that the gateway adapts. */
export interface Adapter {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly capabilities: readonly string[];
  readonly countries: readonly string[];
  readonly currencies: readonly string[];
  readonly authType: AuthType;
  /** The variable that holds its credential, by name. */
  readonly envVar?: string | undefined;
  /** URL of its documentation. */
  readonly documentation?: string | undefined;
  /** The ids of the tools that most people need. */
  readonly commonOperations: readonly string[];
  readonly errors: readonly { readonly code: string; readonly meaning: string; readonly fix: string }[];
  readonly bestPractices: readonly string[];
  readonly webhooks?: string | undefined;
  /** Reason why it has no tools, as a sentence. */
  readonly problem?: string | undefined;
}

/** The adapters of a gateway. Provided by the plugin `openapi`. */
export interface Adapters {
  list(): readonly Adapter[];
  get(id: string): Adapter | undefined;
  /** Finds the operation of a tool, if the tool belongs to an adapter. */
  findOperation(tool: ToolDefinition): Operation | undefined;
  /** Resolves once all documents are read. */
  settled(): Promise<void>;
}

/** Facts about an adapter beyond its document. */
export interface Overlay {
  readonly name?: string | undefined;
  /** Hosts of the API, by which adapters of other ids are recognized. */
  readonly hosts?: readonly string[] | undefined;
  readonly description?: string | undefined;
  readonly category?: string | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly countries?: readonly string[] | undefined;
  readonly currencies?: readonly string[] | undefined;
  readonly documentation?: string | undefined;
  /** The variable that holds its credential. */
  readonly envVar?: string | undefined;
  /** The ids or names of the tools that most people need. */
  readonly commonOperations?: readonly string[] | undefined;
  readonly errors?:
    | readonly { readonly code: string; readonly meaning: string; readonly fix: string }[]
    | undefined;
  readonly bestPractices?: readonly string[] | undefined;
  readonly webhooks?: string | undefined;
  /** The header in which requests that change something take a key, where the document does not declare it. */
  readonly idempotencyHeader?: string | undefined;
  /** Whether the operator's config says that the API takes that key. A document that claims it is not enough. */
  readonly canResend?: boolean | undefined;
}

/** Key of the HTTP status in the `_meta` of a result. */
export const httpStatusMeta: string = "toolpipe/http-status";

declare module "../tool.ts" {
  interface Tool {
    /** Set on operations of a REST API by the plugin `openapi`. */
    operation?: Operation;
  }
}
