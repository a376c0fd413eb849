import { type Call, GatewayError, type Tool } from "../../core/mod.ts";
import { OUTCOME_UNKNOWN } from "../guard/errors.ts";
import type {} from "../guard/policy.ts";
import { refusal } from "../guard/refusal.ts";
import { isUnsent } from "./_mcp-errors.ts";
import { UPSTREAM_CLOSED } from "./errors.ts";

/**
 * What a call fails with whose connection ended before it was answered. By its code alone it would seem that it may
 * be made again; whether it was done is known to nobody. Where there is a guard, that knows which calls only read.
 */
export function lostCall(call: Call, tool: Tool, thrown: unknown): unknown {
  if (tool.policy || call.cancelled || !GatewayError.is(thrown)) return thrown;
  if (thrown.code !== UPSTREAM_CLOSED.code || isUnsent(thrown)) return thrown;
  return refusal(OUTCOME_UNKNOWN, call, `Nobody knows whether "${tool.id}" was done: ${thrown.message}`, {
    cause: thrown,
    suggestion:
      "Find out with another tool whether it was done. Make the call again only if it was not, or if it does no harm twice.",
    data: { reason: thrown.code },
  });
}
