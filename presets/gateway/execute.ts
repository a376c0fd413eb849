import {
  type CallRequest,
  type Gateway,
  GatewayError,
  handMeta,
  isJsonObject,
  type JsonObject,
  type MetaTool,
  type SettledCall,
  type ToolResult,
} from "../../core/mod.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { findServerError } from "../../plugins/lib/servers.ts";
import { explainArgumentError } from "../shared/argument-error.ts";
import { createEnvelope, type Envelope, fromEnvelope, toErrorEnvelope } from "./envelope.ts";
import { describeError, describeNextAttempt, TOOL_ERROR } from "./failure.ts";
import { findOperation, getOperationIds, parseAdapterId, suggestOperations } from "./operations.ts";
import { getSettings, spellToolNames } from "./options.ts";

/** Meta-tool that executes an operation. */
export const executeTool: MetaTool = {
  name: "gateway.execute",
  description: "Execute a specific tool. Use gateway.intent first to find the right tool_id.",
  inputSchema: {
    type: "object",
    properties: {
      // Its pattern is listed but not enforced: a wrong id gets an answer that helps.
      tool_id: { type: "string", description: "Tool identifier in 'adapter:tool' format" },
      params: { type: "object", description: "Parameters for the tool" },
      options: {
        type: "object",
        properties: {
          timeout: { type: "integer", minimum: 1, maximum: 2_147_483_647, default: 30000 },
          idempotency_key: {
            type: "string",
            minLength: 8,
            maxLength: 255,
            pattern: "^[!-~]+$",
            description: "REQUIRED for high-risk operations",
          },
          dry_run: { type: "boolean", default: false },
          confirmed: { type: "boolean", default: false, description: "REQUIRED for destructive operations" },
          confirmation: { type: "string", description: "The token of a refusal, once the user has agreed" },
        },
        // A misspelled option would be a protection that is missing.
        additionalProperties: false,
      },
    },
    required: ["tool_id", "params"],
  },
  annotations: { destructiveHint: true, openWorldHint: true },
  async run({ tool_id, params, options }, { gateway, call }) {
    const order = { id: String(tool_id), params, options: isJsonObject(options) ? options : {} };
    const { envelope, error, questions } = await runOperation(gateway, order, { parent: call });
    if (questions) return questions;
    const code = error?.code ?? (envelope.isError ? TOOL_ERROR.code : undefined);
    const next =
      code === undefined
        ? spellToolNames(gateway, "Use gateway.intent with your next task")
        : describeNextAttempt(gateway, code, undefined);
    return fromEnvelope(envelope, next);
  },
};

/** An operation to execute. */
interface OperationRequest {
  readonly id: string;
  readonly params: unknown;
  /** As in `options` of `gateway.execute`. */
  readonly options: JsonObject;
}

interface OperationOutcome {
  readonly envelope: Envelope;
  /** Error of the gateway; undefined where the operation itself failed. */
  readonly error: GatewayError | undefined;
  /** Questions of the server, for a client that answers by calling again. */
  readonly questions?: ToolResult | undefined;
}

/** Executes an operation as a call of its own, through all stages. Never rejects. */
export async function runOperation(
  gateway: Gateway,
  { id, params, options }: OperationRequest,
  request: Omit<CallRequest, "tool" | "args">,
): Promise<OperationOutcome> {
  const tool = await findOperation(gateway, id);
  if (!tool && !getSettings(gateway).debug) {
    const error = await createUnknownOperationError(gateway, id);
    const body = { tool_id: id, error: describeError(gateway, error, undefined) };
    return { envelope: toErrorEnvelope(body), error };
  }
  const outer = request.parent;
  const meta = { ...(request.meta ?? (outer && handMeta(outer).meta)), ...toRequestMeta(options) };
  const limit = startTimeLimit(options["timeout"], request.signal ?? outer?.signal, id);
  try {
    const call = await gateway.run({
      ...request,
      tool: tool?.id ?? id,
      args: params,
      meta,
      ...limit.request,
    });
    const error = explainError(call, params);
    const toolId = tool && !tool.builtin ? getOperationIds(gateway).getId(tool) : id;
    const questions = call.ok && call.result.resultType === "input_required" ? call.result : undefined;
    return { envelope: createEnvelope(gateway, call, { id: toolId, error }), error, questions };
  } finally {
    limit.end();
  }
}

/** Converts the options of the specification to the metadata that guard and audit read. */
function toRequestMeta({
  idempotency_key,
  dry_run,
  confirmed,
  confirmation,
  timeout,
}: JsonObject): JsonObject {
  return {
    ...(typeof idempotency_key === "string" && { [requestMeta.idempotencyKey]: idempotency_key }),
    ...(typeof dry_run === "boolean" && { [requestMeta.dryRun]: dry_run }),
    ...(typeof confirmed === "boolean" && { [requestMeta.confirmed]: confirmed }),
    ...(typeof confirmation === "string" && { [requestMeta.confirmation]: confirmation }),
    ...(typeof timeout === "number" && { [requestMeta.timeoutMs]: timeout }),
  };
}

/** Aborts a call after the timeout of its caller. */
function startTimeLimit(
  ms: unknown,
  outer: AbortSignal | undefined,
  id: string,
): { readonly request: { readonly signal?: AbortSignal }; end(): void } {
  if (typeof ms !== "number") return { request: {}, end: () => {} };
  const own = new AbortController();
  const message = `"${id}" did not answer within ${ms} ms, as options.timeout says.`;
  const error = new GatewayError("TIMEOUT", message, { data: { ms, setting: "options.timeout" } });
  const timer = setTimeout(() => own.abort(error), ms);
  const signal = outer ? AbortSignal.any([outer, own.signal]) : own.signal;
  return { request: { signal }, end: () => clearTimeout(timer) };
}

function explainError(call: SettledCall, params: unknown): GatewayError | undefined {
  if (call.ok) return undefined;
  const { error, tool, stage } = call;
  const isWrong = stage === "validate" && error.code === "INVALID_ARGUMENTS";
  return isWrong && tool && isJsonObject(params) ? explainArgumentError(error, tool, params) : error;
}

async function createUnknownOperationError(gateway: Gateway, id: string): Promise<GatewayError> {
  const adapter = parseAdapterId(id);
  const trouble = findServerError(gateway, getOperationIds(gateway).getServer(adapter) ?? adapter);
  if (trouble) return trouble;
  const suggestions = await suggestOperations(gateway, id);
  const hint = suggestions.length > 0 ? ` Did you mean ${suggestions.join(" or ")}?` : "";
  return new GatewayError("TOOL_NOT_FOUND", `There is no operation "${id.slice(0, 160)}".${hint}`, {
    data: {
      suggestions,
      suggestion: spellToolNames(gateway, "Use gateway.intent to find the right tool_id"),
    },
  });
}
