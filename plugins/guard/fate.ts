import { GatewayError, type Tool, type ToolResult } from "../../core/mod.ts";
import type {} from "../upstreams/openapi/operation.ts";
import { resultMeta } from "./request-meta.ts";

/**
 * What a failed call may have done: nothing, since it was certainly not sent or was turned away; whatever its server
 * answered; or nobody knows.
 */
export type Fate = "not sent" | "answered" | "unknown";

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

/** A connection that stood already can fail with the same codes as one that never did. */
const STOOD = /\b(read|write) E[A-Z]+/;

/** What a failure says of the call. By code, since those who raise them know nothing of the guard. */
export function fateOf(thrown: unknown): Fate {
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
  return cause instanceof Error && STOOD.test(cause.message) ? "unknown" : "not sent";
}

/**
 * Whether an answer says that nothing was done. Only the plugin `openapi` is believed: a server of another kind could
 * say so of what it has done, and have it done twice.
 */
export function isTurnedAway({ operation }: Tool, result: ToolResult | undefined): boolean {
  return (
    operation !== undefined && result?.isError === true && result._meta?.[resultMeta.turnedAway] === true
  );
}
