import {
  type Call,
  defineError,
  type ErrorKind,
  GatewayError,
  type JsonObject,
  type Tool,
  type ToolResult,
} from "../mod.ts";
import type { RateLimit } from "./state.ts";

export const RATE_LIMITED: ErrorKind = defineError("RATE_LIMITED", {
  spec: "RATE_LIMITED",
  retry: true,
  description: "A server or an operation was called too often.",
});
export const OUTCOME_UNKNOWN: ErrorKind = defineError("OUTCOME_UNKNOWN", {
  spec: "OUTCOME_UNKNOWN",
  description: "It is unknown whether the call had its effect.",
});

/**
 * The effect of a failed call: none, since it was not sent or was turned away; the one its server answered; or
 * unknown.
 */
export type CallOutcome = "not sent" | "answered" | "unknown";

/** Failures that come before the first byte is sent, or in place of it. */
const BEFORE_SENDING = new Set([
  "TOOL_NOT_FOUND",
  "TOOL_DISABLED",
  "TOOL_CHANGED",
  "DENIED",
  "INVALID_ARGUMENTS",
  "UNANSWERED",
  "CONFIG_INVALID",
  "PLUGIN_INVALID",
  "SPAWN_FAILED",
  "CONNECT_FAILED",
  "CONNECT_TIMEOUT",
  "TLS_ERROR",
  "NEEDS_AUTH",
  "NEEDS_APPROVAL",
  "MISSING_VARIABLE",
  "SSRF_BLOCKED",
  "DOCUMENT_BROKEN",
  "RATE_LIMITED",
  "BREAKER_OPEN",
  "AUDIT_UNAVAILABLE",
  "STATE_UNAVAILABLE",
]);

/** An established connection can fail with the same codes as one that was never established. */
const ESTABLISHED = /\b(read|write) E[A-Z]+/;

/** Derives the effect of a call from its error. By code, since plugins that throw them know nothing of the guard. */
export function getOutcome(thrown: unknown): CallOutcome {
  if (!GatewayError.is(thrown)) return "unknown";
  const { code, data, cause } = thrown;
  const { sent, rpcCode, status } = data;
  if (sent === false) return "not sent";
  if (code === "UPSTREAM_ERROR") {
    // An error of the protocol is the server's answer; a status may be a proxy's, and turned away is not done.
    if (typeof rpcCode === "number") return "answered";
    return status === 401 || status === 403 || status === 429 ? "not sent" : "unknown";
  }
  if (sent === true || !BEFORE_SENDING.has(code)) return "unknown";
  return cause instanceof Error && ESTABLISHED.test(cause.message) ? "unknown" : "not sent";
}

/**
 * Returns whether a result states that nothing was done. Only the plugin `openapi` is trusted: another server could claim
 * it after the effect, and have the call made twice.
 */
export function isTurnedAway({ operation }: Tool, result: ToolResult | undefined): boolean {
  return (
    operation !== undefined && result?.isError === true && result._meta?.[resultMeta.turnedAway] === true
  );
}

/** The harm that an operation can do. */
export type RiskLevel = "low" | "medium" | "high" | "destructive";

/** The levels, the least harmful first. */
export const riskLevels: readonly RiskLevel[] = ["low", "medium", "high", "destructive"];

/** The requirements of an operation. */
export interface OperationPolicy {
  readonly riskLevel: RiskLevel;
  /** Whether a call needs an idempotency key. */
  readonly idempotencyRequired: boolean;
  /** Whether a call needs a confirmation of the user. */
  readonly confirmationRequired: boolean;
  readonly requiredScopes: readonly string[];
  /** The name of the rate limit it counts against. */
  readonly rateLimitBucket: string;
  readonly reversible: boolean;
  readonly category: string;
  /** Whether the operator allows making it twice. Annotations of its server do not count. */
  readonly retrySafe?: boolean | undefined;
}

declare module "../tool.ts" {
  interface Tool {
    /** Set by the plugin `guard`. A tool without one is treated as high risk. */
    policy?: OperationPolicy;
  }
}

/** Returns the higher of two risk levels. */
export function maxRiskLevel(a: RiskLevel, b: RiskLevel): RiskLevel {
  return riskLevels.indexOf(a) >= riskLevels.indexOf(b) ? a : b;
}

/** Creates the default policy of a risk level. */
export function createPolicy(riskLevel: RiskLevel, category: string): OperationPolicy {
  return {
    riskLevel,
    idempotencyRequired: riskLevel === "high",
    confirmationRequired: riskLevel === "destructive",
    requiredScopes: riskLevel === "low" ? [] : [`${category}:write`],
    rateLimitBucket: `${category}_${riskLevel}_risk`,
    reversible: riskLevel === "low" || riskLevel === "medium",
    category,
  };
}

/** Returns the policy of a tool, or the one of high risk if it has none. */
export function getPolicy(tool: Tool): OperationPolicy {
  return tool.policy ?? createPolicy(tool.builtin ? "low" : "high", tool.server);
}

/** Details of a {@link createRefusal}. */
export interface RefusalDetails {
  /** Next step for the caller, in a sentence or two. */
  readonly suggestion: string;
  readonly data?: JsonObject | undefined;
  readonly cause?: unknown;
}

/** Creates the error of a refused call, with the facts that its caller needs. */
export function createRefusal(
  kind: ErrorKind,
  { id, tool, toolId }: Call,
  message: string,
  { suggestion, data, cause }: RefusalDetails,
): GatewayError {
  return new GatewayError(kind, message, {
    ...(cause !== undefined && { cause }),
    data: {
      tool: toolId,
      risk_level: tool ? getPolicy(tool).riskLevel : "high",
      suggestion,
      request_id: id,
      retryable: kind.retry,
      ...data,
    },
  });
}

/** Keys in the `_meta` of a request. */
export const requestMeta = {
  /** The idempotency key. */
  idempotencyKey: "toolpipe/idempotency-key",
  /** True if the user has confirmed the call. */
  confirmed: "toolpipe/confirmed",
  /** A token that a refusal issued: it confirms one call, once. */
  confirmation: "toolpipe/confirmation",
  /** True if the call is described and not made. */
  dryRun: "toolpipe/dry-run",
  /** Timeout of the call, in milliseconds. */
  timeoutMs: "toolpipe/timeout-ms",
} as const;

/** Keys in the `_meta` of a result. */
export const resultMeta = {
  /** True if a REST API turned the request away, so that nothing was done. */
  turnedAway: "toolpipe/turned-away",
} as const;

/** The fields of a request that the guard reads. */
export interface GuardRequest {
  /** Unchecked: any value. */
  readonly key: unknown;
  readonly confirmed: boolean;
  readonly confirmation: string | undefined;
  readonly dryRun: boolean;
}

/** Reads the fields of a request for the guard. */
export function readGuardRequest(meta: Readonly<JsonObject>): GuardRequest {
  const confirmation = meta[requestMeta.confirmation];
  return {
    key: meta[requestMeta.idempotencyKey],
    confirmed: meta[requestMeta.confirmed] === true,
    confirmation: typeof confirmation === "string" ? confirmation : undefined,
    dryRun: meta[requestMeta.dryRun] === true,
  };
}

/** The rate limits of a gateway. Provided by the plugin `rates`. */
export interface Rates {
  /** Returns the limit of a bucket, if it has one. */
  getLimit(bucket: string): RateLimit | undefined;
}
