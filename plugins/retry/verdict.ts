import { type Call, GatewayError } from "../../core/mod.ts";
import { getOutcome } from "../../core/services/policy.ts";

/** Where the result of a REST API says which status it came with: in its `_meta`. */
const HTTP_STATUS = "toolpipe/http-status";

/** Failures that say something of the server, besides those after which nobody knows what it did. */
const UNREACHABLE = new Set(["SPAWN_FAILED", "CONNECT_FAILED", "CONNECT_TIMEOUT", "TLS_ERROR"]);
/** What is left of a call when its connection ends: the one where a guard looks after it, the other elsewhere. */
const LOST = new Set(["UPSTREAM_CLOSED", "OUTCOME_UNKNOWN"]);
/** Failures after which nobody knows what the server did, and that say nothing of it. */
const NOT_ITS_FAULT = new Set(["CANCELLED", "CLOSED", "INTERNAL"]);

/** What an attempt says of the server: that it answers, that it does not, or nothing. */
export function verdictOn(call: Call, thrown: unknown): "answered" | "failed" | "nothing" {
  if (thrown === undefined) return isServerFault(call) ? "failed" : "answered";
  if (!GatewayError.is(thrown) || NOT_ITS_FAULT.has(thrown.code)) return "nothing";
  const fate = getOutcome(thrown);
  if (fate === "answered") return "answered";
  return fate === "unknown" || UNREACHABLE.has(thrown.code) ? "failed" : "nothing";
}

/** Whether a call failed with the connection that it was made over, and many others with it. */
export function isConnectionLost(thrown: unknown): boolean {
  return GatewayError.is(thrown) && LOST.has(thrown.code);
}

/** Whether a REST API answered that it has a fault of its own. */
export function isServerFault({ result }: Call): boolean {
  return Number(result?._meta?.[HTTP_STATUS]) >= 500;
}
