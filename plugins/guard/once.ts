import {
  type Call,
  type Gateway,
  GatewayError,
  type Next,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import { httpStatusMeta } from "../../core/services/adapters.ts";
import {
  createRefusal,
  getOutcome,
  getPolicy,
  isTurnedAway,
  OUTCOME_UNKNOWN,
} from "../../core/services/policy.ts";
import { UPSTREAM_ERROR } from "../../core/services/servers.ts";
import { canonicalJson, sha256Hex } from "../lib/hash.ts";
import { shorten, toOneLine } from "../lib/text/shorten.ts";
import { IDEMPOTENCY_MISMATCH, IN_PROGRESS } from "./errors.ts";
import type { Idempotency } from "./idempotency.ts";
import type { Outbox } from "./outbox.ts";
import { keepError, keepResult, replay } from "./outcome.ts";

/** The one status of 500 and above that says that nothing was done. */
const NOT_IMPLEMENTED = 501;
/** Characters of an API's answer in the message of an error. */
const MAX_SAID = 200;

/** Hashes the key with its actor: two actors may use the same key, and neither can probe the keys of the other. */
export function toCallKey({ actor }: Call, key: string): string {
  return sha256Hex(JSON.stringify([actor.id, key]));
}

/** Executes a call, or answers with the stored outcome if it was executed under its key before. */
export async function runOnce(
  parts: {
    readonly gateway: Gateway;
    readonly idempotency: Idempotency;
    readonly outbox: Outbox;
    /** Throws if earlier keys may be lost. Asked when the key is taken: a loss after that is one of this call alone. */
    readonly checkKept: () => Promise<void>;
    readonly hashTool: (tool: Tool) => string;
    readonly deadlineMs: number;
    readonly maxResultBytes: number;
  },
  call: Call,
  tool: Tool,
  clientKey: string,
  next: Next,
): Promise<void> {
  const { idempotency, hashTool, deadlineMs, maxResultBytes } = parts;
  const key = toCallKey(call, clientKey);
  const begun = await idempotency.begin({
    key,
    fingerprint: sha256Hex(JSON.stringify([tool.id, hashTool(tool), canonicalJson(call.args)])),
    deadlineMs,
    // An API that takes the same key makes sure itself that the call happens once.
    retrySafe: getPolicy(tool).retrySafe === true || tool.operation?.canResend === true,
  });
  switch (begun.state) {
    case "completed":
      call.via = "replay";
      call.result = replay(begun.outcome, tool.id);
      return;
    case "mismatch":
      throw createRefusal(IDEMPOTENCY_MISMATCH, call, "This idempotency key was used for another call.", {
        suggestion: "Use a new key for this call, or repeat the other one exactly as it was.",
        data: { safe_new_key: true },
      });
    case "in progress":
      throw createRefusal(IN_PROGRESS, call, `"${tool.id}" is already running with this idempotency key.`, {
        suggestion:
          "Wait, then make the same call with the same key: it is answered without being done again.",
        data: { safe_new_key: false },
      });
    case "damaged":
      throw createUnknownError(
        call,
        "its record cannot be read, so an earlier call under this idempotency key may have been made",
      );
    case "unknown":
      throw createUnknownError(call, "an earlier call under this idempotency key never ended");
  }
  const { fence } = begun;
  const store = (write: () => Promise<boolean>): Promise<void> =>
    parts.outbox.store(write, (failure) => {
      // The caller still gets the outcome, and the call is not made again under its key.
      const message = `The outcome of the call of "${tool.id}" could not be stored. It is stored once the state can be written again.`;
      parts.gateway.report(
        new GatewayError(failure.kind, `${message} ${failure.message}`, { cause: failure }),
      );
    });
  try {
    // If it was cancelled while the key was stored, nothing was sent.
    if (call.cancelled)
      throw new GatewayError(call.cancelled.kind, call.cancelled.message, { data: { sent: false } });
    await parts.checkKept();
    await next();
    if (!call.result) {
      const message = `No plugin answered the call of "${tool.id}".`;
      throw new GatewayError("UNANSWERED", message, { data: { sent: true } });
    }
    checkAnswer(tool, call.result);
  } catch (thrown) {
    const outcome = getOutcome(thrown);
    await store(() => {
      if (outcome === "not sent") return idempotency.release(key, fence);
      if (outcome === "answered") return idempotency.complete(key, fence, keepError(thrown as GatewayError));
      return idempotency.lose(key, fence);
    });
    throw outcome === "unknown" ? toUnknownError(call, thrown) : thrown;
  }
  const { result } = call;
  // The key stays usable for the call once its credential or permission is fixed, or its question answered.
  await store(() =>
    isTurnedAway(tool, result) || result.resultType === "input_required"
      ? idempotency.release(key, fence)
      : idempotency.complete(key, fence, keepResult(result, maxResultBytes)),
  );
}

/** Executes a call without a key. */
export async function runWithoutKey(call: Call, tool: Tool, next: Next): Promise<void> {
  try {
    await next();
    checkAnswer(tool, call.result);
  } catch (thrown) {
    throw getPolicy(tool).riskLevel !== "low" && getOutcome(thrown) === "unknown"
      ? toUnknownError(call, thrown)
      : thrown;
  }
}

/**
 * Throws if a REST API answered a call that changes something with a fault of its own: the API, or a proxy before it, may
 * have failed after the effect.
 */
function checkAnswer(tool: Tool, result: ToolResult | undefined): void {
  const status = result?._meta?.[httpStatusMeta];
  if (
    tool.operation === undefined ||
    typeof status !== "number" ||
    status < 500 ||
    status === NOT_IMPLEMENTED
  )
    return;
  if (getPolicy(tool).riskLevel === "low") return;
  const text = result?.content.find(({ type }) => type === "text")?.["text"];
  throw new GatewayError(
    UPSTREAM_ERROR,
    `its API answered ${shorten(toOneLine(String(text ?? status)), MAX_SAID)}`,
    {
      data: { status },
    },
  );
}

/** Creates the error of a call that failed after it may have been sent. A cancelled call has been answered already. */
function toUnknownError(call: Call, thrown: unknown): unknown {
  if (call.cancelled) return thrown;
  const said = GatewayError.is(thrown) ? thrown.message : "something failed inside the gateway";
  return createUnknownError(call, said.replace(/\.$/, ""), thrown);
}

function createUnknownError(call: Call, why: string, cause?: unknown): GatewayError {
  return createRefusal(OUTCOME_UNKNOWN, call, `It is unknown whether "${call.toolId}" was done: ${why}.`, {
    cause,
    suggestion:
      "Find out with another tool whether it was done. Only if it was not, make the call again with a new idempotency key.",
    data: { safe_new_key: false, ...(GatewayError.is(cause) && { reason: cause.code }) },
  });
}
