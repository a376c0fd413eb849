import { GatewayError } from "./errors.ts";

/** A JSON object: what arguments, schemas and metadata are. */
export type JsonObject = Record<string, unknown>;

/** What a server says of its tool's behaviour. Hints only: an upstream is not trusted. */
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
  /** What plugins say it is about; searched and matched by rules. */
  tags: string[];
  /** False if a plugin keeps it from being called; then it is not searched or suggested either. */
  enabled: boolean;
  /** Why it is not enabled, in a sentence. */
  disabledBecause?: string;
}

/** The error of a call of a tool that is not enabled. */
export function toolDisabled({
  id,
  disabledBecause = "",
}: Pick<Tool, "id" | "disabledBecause">): GatewayError {
  return new GatewayError("TOOL_DISABLED", `"${id}" is disabled. ${disabledBecause}`.trimEnd(), {
    data: { tool: id },
  });
}

/** A server in the catalog. */
export interface Server {
  /** Its name in every tool id, so it holds no colon. */
  readonly id: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** A source of the gateway itself, such as the meta-tools of a preset: callable, never listed or searched. */
  readonly builtin?: boolean | undefined;
}

/** One block of a result, as MCP defines them: text, image, audio, resource, resource link. */
export interface ContentBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** What a tool answers. `isError` is the tool's own failure; a failure of the gateway is a `GatewayError`. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
  /** `input_required` where this is no answer but questions of a server, which a client answers by calling again. */
  readonly resultType?: string;
  readonly inputRequests?: unknown;
  readonly requestState?: unknown;
}

/** A result of one text block. */
export function textResult(text: string): ToolResult {
  return { content: [{ type: "text", text }] };
}
