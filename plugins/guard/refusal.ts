import { type Call, type ErrorKind, GatewayError, type JsonObject } from "../../core/mod.ts";
import { policyOf } from "./policy.ts";

/** What a refusal tells besides its message. */
export interface RefusalDetails {
  /** What to do about it, in a sentence or two. */
  readonly suggestion: string;
  readonly data?: JsonObject | undefined;
  readonly cause?: unknown;
}

/** The error of a call that the guard does not let through, with what its caller needs to go on. */
export function refusal(
  kind: ErrorKind,
  { id, tool, toolId }: Call,
  message: string,
  { suggestion, data, cause }: RefusalDetails,
): GatewayError {
  return new GatewayError(kind, message, {
    ...(cause !== undefined && { cause }),
    data: {
      tool: toolId,
      risk_level: tool ? policyOf(tool).riskLevel : "high",
      suggestion,
      request_id: id,
      retryable: kind.retry,
      ...data,
    },
  });
}
