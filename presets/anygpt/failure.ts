import { errorKinds, type GatewayError, type ToolResult } from "../../core/mod.ts";

/** A failure, as the specification shows it. */
export interface ExecutionError {
  readonly code: string;
  readonly message: string;
  readonly server: string;
  readonly tool: string;
}

/** What the specification tells of an error. */
export function executionError(error: GatewayError, server: string, tool: string): ExecutionError {
  return { code: error.kind.spec, message: error.message, server, tool };
}

/** What the specification tells of a failure that is the tool's own. */
export function toolError({ content }: ToolResult, server: string, tool: string): ExecutionError {
  const texts = content.flatMap((block) => (block.type === "text" ? [String(block["text"])] : []));
  const message = texts.join("\n") || "The tool failed and did not say why.";
  return { code: errorKinds.INTERNAL.spec, message, server, tool };
}
