import {
  type CallRequest,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type SettledCall,
  type ToolResult,
} from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { troubleOf } from "../../plugins/lib/servers.ts";
import { explainArguments } from "../anygpt/argument-fault.ts";
import { type Envelope, envelopeOf, refusal } from "./envelope.ts";
import { findOperation, suggestionsFor } from "./find-operation.ts";
import { operationIds } from "./operation-ids.ts";
import { optionsOf, say } from "./options-of.ts";

/** An operation that is to be executed. */
export interface Order {
  readonly id: string;
  readonly params: unknown;
  /** As in `options` of `gateway.execute`. */
  readonly options: JsonObject;
}

/** An answer, and what it is about. */
export interface Executed {
  readonly envelope: Envelope;
  /** Why it failed, where that is not the operation's own doing. */
  readonly error: GatewayError | undefined;
  /** What its server asks instead of answering, for a client that answers by calling again. */
  readonly questions?: ToolResult | undefined;
}

/** Executes an operation as a call of its own, with all that guards it. Never rejects. */
export async function runOperation(
  gateway: Gateway,
  { id, params, options }: Order,
  request: Omit<CallRequest, "tool" | "args">,
): Promise<Executed> {
  const tool = await findOperation(gateway, id);
  if (!tool && !optionsOf(gateway).debug) {
    const error = await unknown(gateway, id);
    return { envelope: refusal(gateway, id, error), error };
  }
  const outer = request.parent;
  const meta = { ...(request.meta ?? outer?.meta), ...metaOf(options) };
  const limit = timeLimit(options["timeout"], request.signal ?? outer?.signal, id);
  try {
    const call = await gateway.run({
      ...request,
      tool: tool?.id ?? id,
      args: params,
      meta,
      ...limit.request,
    });
    const error = explained(call, params);
    const shown = tool && !tool.builtin ? operationIds(gateway).idOf(tool) : id;
    const questions = call.ok && call.result.resultType === "input_required" ? call.result : undefined;
    return { envelope: envelopeOf(gateway, call, { id: shown, error }), error, questions };
  } finally {
    limit.end();
  }
}

/** What the guard and the audit read of a call, from the options of the specification. */
function metaOf({ idempotency_key, dry_run, confirmed, confirmation, timeout }: JsonObject): JsonObject {
  return {
    ...(typeof idempotency_key === "string" && { [requestMeta.idempotencyKey]: idempotency_key }),
    ...(typeof dry_run === "boolean" && { [requestMeta.dryRun]: dry_run }),
    ...(typeof confirmed === "boolean" && { [requestMeta.confirmed]: confirmed }),
    ...(typeof confirmation === "string" && { [requestMeta.confirmation]: confirmation }),
    ...(typeof timeout === "number" && { [requestMeta.timeoutMs]: timeout }),
  };
}

/** Ends a call that takes longer than its caller would wait. */
function timeLimit(
  given: unknown,
  outer: AbortSignal | undefined,
  id: string,
): { readonly request: { readonly signal?: AbortSignal }; end(): void } {
  if (typeof given !== "number") return { request: {}, end: () => {} };
  const own = new AbortController();
  const late = new GatewayError(
    "TIMEOUT",
    `"${id}" did not answer within ${given} ms, as options.timeout says.`,
    {
      data: { ms: given, setting: "options.timeout" },
    },
  );
  const timer = setTimeout(() => own.abort(late), given);
  const signal = outer ? AbortSignal.any([outer, own.signal]) : own.signal;
  return { request: { signal }, end: () => clearTimeout(timer) };
}

function explained(call: SettledCall, params: unknown): GatewayError | undefined {
  if (call.ok) return undefined;
  const { error, tool, stage } = call;
  const isWrong = stage === "validate" && error.code === "INVALID_ARGUMENTS";
  return isWrong && tool && isJsonObject(params) ? explainArguments(error, tool, params) : error;
}

async function unknown(gateway: Gateway, id: string): Promise<GatewayError> {
  const adapter = id.slice(0, Math.max(0, id.indexOf(":")));
  const trouble = troubleOf(gateway, operationIds(gateway).serverOf(adapter) ?? adapter);
  if (trouble) return trouble;
  const suggestions = await suggestionsFor(gateway, id);
  const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(" or ")}?` : "";
  return new GatewayError("TOOL_NOT_FOUND", `There is no operation "${id.slice(0, 160)}".${hint}`, {
    data: { suggestions, suggestion: say(gateway, "Use gateway.intent to find the right tool_id") },
  });
}
