import type { JsonObject, ToolDefinition } from "../../../core/mod.ts";

/** How a request proves who sends it. */
export type AuthType = "none" | "bearer" | "basic" | "apiKey" | "oauth2";

/** What a document says of one operation beyond what every tool has. */
export interface Operation {
  /** In upper case. */
  readonly method: string;
  /** With its parameters in braces, as the document has it. */
  readonly path: string;
  /** The first of its tags. */
  readonly category?: string | undefined;
  readonly auth: AuthType;
  /** Arguments that the document gives as examples. */
  readonly examples: readonly JsonObject[];
  /** The failures that the document describes. */
  readonly errors: readonly OperationError[];
  /** The header in which the operation takes a key that makes repeating it safe. */
  readonly idempotencyHeader?: string | undefined;
  readonly deprecated: boolean;
}

/** A failure that a document describes. */
export interface OperationError {
  /** The HTTP status, or `default`. */
  readonly status: string;
  readonly meaning: string;
}

/** What is known of an adapter: an API as a whole. */
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
  /** Where its own documentation is. */
  readonly documentation?: string | undefined;
  /** The ids of the tools that most people need. */
  readonly commonOperations: readonly string[];
  readonly errors: readonly { readonly code: string; readonly meaning: string; readonly fix: string }[];
  readonly bestPractices: readonly string[];
  readonly webhooks?: string | undefined;
  /** Why it has no tools, in a sentence, if its document cannot be used. */
  readonly problem?: string | undefined;
}

/** The adapters of a gateway. */
export interface Adapters {
  list(): readonly Adapter[];
  get(id: string): Adapter | undefined;
  /** What a tool is, if it is an operation of one of the adapters. */
  operationOf?(tool: ToolDefinition): Operation | undefined;
  /** Resolves once no document is being read. */
  settled?(): Promise<void>;
}

declare module "../../../core/tool.ts" {
  interface Tool {
    /** Set on operations of a REST API by the plugin `openapi`. */
    operation?: Operation;
  }
}

declare module "../../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `openapi`. */
    adapters?: Adapters;
  }
}
