import { type Call, type Gateway, GatewayError, type Next, type Tool } from "../../core/mod.ts";
import type {} from "../upstreams/openapi/operation.ts";
import { canonicalJson, sha256 } from "./canonical.ts";
import { IDEMPOTENCY_MISMATCH, IN_PROGRESS, OUTCOME_UNKNOWN } from "./errors.ts";
import { fateOf, isTurnedAway } from "./fate.ts";
import type { Idempotency } from "./idempotency.ts";
import { keepError, keepResult, replay } from "./outcome.ts";
import { policyOf } from "./policy.ts";
import { refusal } from "./refusal.ts";

/** What {@link once} is given. */
export interface OnceParts {
  readonly gateway: Gateway;
  readonly idempotency: Idempotency;
  readonly hashOf: (tool: Tool) => string;
  readonly deadlineMs: number;
  readonly maxResultBytes: number;
}

/** Names the call that an actor makes under a key. Nobody sees, or stumbles over, the keys of another. */
export function keyOf({ actor }: Call, key: string): string {
  return sha256(JSON.stringify([actor.id, key]));
}

/** Executes a call unless it was executed under its key before; then it is answered as it was then. */
export async function once(
  parts: OnceParts,
  call: Call,
  tool: Tool,
  clientKey: string,
  next: Next,
): Promise<void> {
  const { idempotency, hashOf, deadlineMs, maxResultBytes } = parts;
  const key = keyOf(call, clientKey);
  const begun = await idempotency.begin({
    key,
    fingerprint: sha256(JSON.stringify([tool.id, hashOf(tool), canonicalJson(call.args)])),
    deadlineMs,
    // An API that takes the same key does not do it twice itself.
    retrySafe: policyOf(tool).retrySafe === true || tool.operation?.idempotencyHeader !== undefined,
  });
  switch (begun.state) {
    case "completed":
      call.via = "replay";
      call.result = replay(begun.outcome, tool.id);
      return;
    case "mismatch":
      throw refusal(IDEMPOTENCY_MISMATCH, call, "This idempotency key was used for another call.", {
        suggestion: "Use a new key for this call, or repeat the other one exactly as it was.",
        data: { safe_new_key: true },
      });
    case "in progress":
      throw refusal(IN_PROGRESS, call, `"${tool.id}" is under way with this idempotency key.`, {
        suggestion:
          "Wait, then make the same call with the same key: it is answered without being done again.",
        data: { safe_new_key: false },
      });
    case "unknown":
      throw outcomeUnknown(call, "an earlier call under this idempotency key never came to an end");
  }
  const { fence } = begun;
  try {
    // It may have been given up while the key was written down: then nothing was sent for certain.
    if (call.cancelled)
      throw new GatewayError(call.cancelled.kind, call.cancelled.message, { data: { sent: false } });
    await next();
    if (!call.result) {
      const message = `No plugin answered the call of "${tool.id}".`;
      throw new GatewayError("UNANSWERED", message, { data: { sent: true } });
    }
  } catch (thrown) {
    const fate = fateOf(thrown);
    await noted(() => {
      if (fate === "not sent") return idempotency.release(key, fence);
      if (fate === "answered") return idempotency.complete(key, fence, keepError(thrown as GatewayError));
      return idempotency.lose(key, fence);
    });
    throw fate === "unknown" ? lost(call, thrown) : thrown;
  }
  const { result } = call;
  // Once the credential or the permission is right, or the question is answered, the same key is good for the same call.
  await noted(() =>
    isTurnedAway(tool, result) || result.resultType === "input_required"
      ? idempotency.release(key, fence)
      : idempotency.complete(key, fence, keepResult(result, maxResultBytes)),
  );

  /** Where it cannot be written down, the caller is told how it went all the same, and under its key it is not done again. */
  async function noted(write: () => Promise<boolean>): Promise<void> {
    try {
      await write();
    } catch (failure) {
      const message = `How the call of "${tool.id}" ended could not be written down.`;
      parts.gateway.report(GatewayError.from(failure, message));
    }
  }
}

/** Executes a call that has no key. */
export async function unkeyed(call: Call, tool: Tool, next: Next): Promise<void> {
  try {
    await next();
  } catch (thrown) {
    throw policyOf(tool).riskLevel !== "low" && fateOf(thrown) === "unknown" ? lost(call, thrown) : thrown;
  }
}

/** What is told of a call that failed after it may have been sent. One that was given up has been answered already. */
function lost(call: Call, thrown: unknown): unknown {
  if (call.cancelled) return thrown;
  const said = GatewayError.is(thrown) ? thrown.message : "something failed inside the gateway";
  return outcomeUnknown(call, said.replace(/\.$/, ""), thrown);
}

function outcomeUnknown(call: Call, why: string, cause?: unknown): GatewayError {
  return refusal(OUTCOME_UNKNOWN, call, `Nobody knows whether "${call.toolId}" was done: ${why}.`, {
    cause,
    suggestion:
      "Find out with another tool whether it was done. Only if it was not, make the call again with a new idempotency key.",
    data: { safe_new_key: false, ...(GatewayError.is(cause) && { reason: cause.code }) },
  });
}
