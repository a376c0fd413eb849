import { GatewayError } from "./errors.ts";

/** A JSON object, such as arguments, schemas and metadata. */
export type JsonObject = Record<string, unknown>;

/** Hints of a server about its tool's behavior. They are not trusted. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as its server defines it. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly icons?: unknown;
  readonly execution?: unknown;
  readonly _meta?: unknown;
}

/** A tool in the catalog. `tool:discover` hooks may enrich it before it is published there. */
export interface Tool extends ToolDefinition {
  /** `server:name`. */
  readonly id: string;
  /** The id of its server. */
  readonly server: string;
  /** Whether it is a tool of the gateway itself. */
  readonly builtin: boolean;
  /** Tags that plugins set; searched, and matched by rules. */
  tags: string[];
  /** False if a plugin disabled it; then it is neither called, searched nor suggested. */
  enabled: boolean;
  /** Reason why it is disabled, as a sentence. */
  disabledBecause?: string;
}

/** Creates the error of a call of a disabled tool. */
export function createDisabledError({
  id,
  disabledBecause = "",
}: Pick<Tool, "id" | "disabledBecause">): GatewayError {
  return new GatewayError("TOOL_DISABLED", `"${id}" is disabled. ${disabledBecause}`.trimEnd(), {
    data: { tool: id },
  });
}

/** A server in the catalog. */
export interface Server {
  /** Part of every tool id, so it has no colon. */
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Whether it is part of the gateway, such as the meta-tools of a preset: callable, never listed or searched. */
  readonly builtin?: boolean | undefined;
}

/** One block of a result, as MCP defines them: text, image, audio, resource, resource link. */
export interface ContentBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Result of a tool. `isError` is the tool's own failure; a failure of the gateway is a `GatewayError`. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
  /** `input_required` if the server asks for input, which the client gives by calling again. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** Creates a result of one text block. */
export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }] };
}
