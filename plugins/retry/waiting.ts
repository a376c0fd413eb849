import { type Call, GatewayError } from "../../core/mod.ts";
import type {} from "../../core/services/adapters.ts";
import { getOutcome, getPolicy, readGuardRequest } from "../../core/services/policy.ts";
import { isServerFault } from "./verdict.ts";

/** Given up by whoever waits for it: trying again would be for nobody. */
const OVER = new Set(["CANCELLED", "CLOSED", "TIMEOUT"]);

/** Whether a call may be made again after it failed, or was answered with a fault of the server. */
export function mayRetry(call: Call, thrown: unknown): boolean {
  if (call.cancelled || call.ended || !call.tool) return false;
  const { riskLevel, retrySafe } = getPolicy(call.tool);
  const hasKey =
    readGuardRequest(call.meta).key !== undefined && call.tool.operation?.idempotencyHeader !== undefined;
  const isHarmless = riskLevel === "low" || retrySafe === true || hasKey;
  if (thrown === undefined) return isHarmless && isServerFault(call);
  if (!GatewayError.is(thrown) || OVER.has(thrown.code)) return false;
  const fate = getOutcome(thrown);
  if (fate === "answered") return false;
  // What was certainly not sent can be sent again, where that may help.
  return fate === "not sent" ? thrown.kind.retry : isHarmless;
}

/** How long to wait before a call is tried again; nothing where that is too long. */
export function waitBefore(
  tries: number,
  thrown: unknown,
  { baseMs, maxMs }: { readonly baseMs: number; readonly maxMs: number },
): number | undefined {
  const { retryAfterMs, retry_after: seconds } = GatewayError.is(thrown) ? thrown.data : {};
  const asked = typeof retryAfterMs === "number" ? retryAfterMs : Number(seconds ?? 0) * 1000;
  if (asked > maxMs) return undefined;
  // Anything between nothing and the whole of it: those who failed together do not come back together.
  return Math.max(asked, Math.random() * Math.min(maxMs, baseMs * 2 ** tries));
}
