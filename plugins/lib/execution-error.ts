import type { GatewayError } from "../../core/mod.ts";

/** A failed execution, in the form of the specification. */
export interface ExecutionError {
  readonly code: string;
  readonly message: string;
  readonly server: string;
  readonly tool: string;
  /** Facts beside the message: structured content of a failed tool, or the code of a failed connection. */
  readonly details?: unknown;
}

/** Name of failed connections where they are an error of their own, and not the outcome of an execution. */
const CONNECTION = "SERVER_CONNECTION_ERROR";
const EXECUTION = "TOOL_EXECUTION_ERROR";

/** Converts an error of the gateway. An execution that cannot reach its server has failed as any other, with details. */
export function toExecutionError<Name>(
  { kind, message }: GatewayError,
  server: Name,
  tool: Name,
): Omit<ExecutionError, "server" | "tool"> & { readonly server: Name; readonly tool: Name } {
  const failure = { code: kind.spec, message, server, tool };
  return kind.spec === CONNECTION ? { ...failure, code: EXECUTION, details: { code: CONNECTION } } : failure;
}
