import { type Call, GatewayError } from "../../core/mod.ts";
import { httpStatusMeta } from "../../core/services/adapters.ts";
import { getOutcome, getPolicy, readGuardRequest } from "../../core/services/policy.ts";

/** Failures that count against the server, besides those with an unknown outcome. */
const UNREACHABLE = new Set(["SPAWN_FAILED", "CONNECT_FAILED", "CONNECT_TIMEOUT", "TLS_ERROR"]);
/** Codes of a call whose connection ended: the second one with the plugin `guard`, the first one without. */
const LOST = new Set(["UPSTREAM_CLOSED", "OUTCOME_UNKNOWN"]);
/** Failures with an unknown outcome that are not the server's fault. */
const NOT_ITS_FAULT = new Set(["CANCELLED", "CLOSED", "INTERNAL"]);
/** The caller has given up, so a retry would be wasted. */
const GIVEN_UP = new Set(["CANCELLED", "CLOSED", "TIMEOUT"]);

/** Judges the server by one attempt: it answers, it does not, or the attempt tells nothing. */
export function judgeAttempt(call: Call, thrown: unknown): "answered" | "failed" | "nothing" {
  if (thrown === undefined) return isServerFault(call) ? "failed" : "answered";
  if (!GatewayError.is(thrown) || NOT_ITS_FAULT.has(thrown.code)) return "nothing";
  const outcome = getOutcome(thrown);
  if (outcome === "answered") return "answered";
  return outcome === "unknown" || UNREACHABLE.has(thrown.code) ? "failed" : "nothing";
}

/** Whether a call failed with its connection, which fails many calls at once. */
export function isConnectionLost(thrown: unknown): boolean {
  return GatewayError.is(thrown) && LOST.has(thrown.code);
}

/** Whether a REST API answered with a fault of its own. */
function isServerFault({ result }: Call): boolean {
  return Number(result?._meta?.[httpStatusMeta]) >= 500;
}

/** Whether a call may be made again after it failed, or was answered with a fault of the server. */
export function canRetry(call: Call, thrown: unknown): boolean {
  if (call.cancelled || call.ended || !call.tool) return false;
  const { riskLevel, retrySafe } = getPolicy(call.tool);
  const hasKey = readGuardRequest(call.meta).key !== undefined && call.tool.operation?.canResend === true;
  const isHarmless = riskLevel === "low" || retrySafe === true || hasKey;
  if (thrown === undefined) return isHarmless && isServerFault(call);
  if (!GatewayError.is(thrown) || GIVEN_UP.has(thrown.code)) return false;
  const outcome = getOutcome(thrown);
  if (outcome === "answered") return false;
  // A request that was certainly not sent can be sent again, if that may help.
  return outcome === "not sent" ? thrown.kind.retry : isHarmless;
}
