import type {
  ContentBlock,
  Gateway,
  GatewayError,
  JsonObject,
  SettledCall,
  ToolResult,
} from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { dataOf } from "./data-of.ts";
import { errorOf, ownErrorOf } from "./failure.ts";
import { operationIds } from "./operation-ids.ts";
import { categoryOf, isIdempotent } from "./policy-of.ts";

/** What is answered to whoever had an operation executed. */
export interface Envelope {
  /** The answer as JSON. It is put together as text, so that data is passed on with every digit it came with. */
  readonly json: string;
  /** What the operation answered besides data. */
  readonly rest: readonly ContentBlock[];
  readonly isError: boolean;
  readonly meta: JsonObject | undefined;
}

/** The answer to an execution that is over, under the id by which it was asked for. */
export function envelopeOf(
  gateway: Gateway,
  call: SettledCall,
  { id, error = call.error }: { readonly id: string; readonly error?: GatewayError | undefined },
): Envelope {
  const head = { tool_id: id, execution_time_ms: Math.round(call.durationMs) };
  const meta = metaOf(gateway, call, id);
  if (error || !call.ok) {
    const failure = error ?? (call.error as GatewayError);
    const body = { success: false, ...head, error: errorOf(gateway, failure, call.tool), meta };
    return { json: JSON.stringify(body), rest: [], isError: true, meta: undefined };
  }
  const { result } = call;
  const { json: data, rest } = dataOf(result);
  const isError = result.isError === true;
  const error_ = isError ? { error: ownErrorOf(gateway, result, call.tool) } : {};
  const start = JSON.stringify({ success: !isError, ...head, ...error_ }).slice(0, -1);
  return {
    json: `${start},"data":${data},"meta":${JSON.stringify(meta)}}`,
    rest,
    isError,
    meta: result._meta,
  };
}

/** An answer that never came to an execution. */
export function refusal(gateway: Gateway, id: string, error: GatewayError): Envelope {
  const body = { success: false, tool_id: id, error: errorOf(gateway, error, undefined) };
  return { json: JSON.stringify(body), rest: [], isError: true, meta: undefined };
}

/** The same as an agent is answered: what is not data follows it, each as it is. */
export function resultOf({ json, rest, isError, meta }: Envelope): ToolResult {
  return {
    content: [{ type: "text", text: json }, ...rest],
    ...(isError && { isError }),
    ...(meta && { _meta: meta }),
  };
}

function metaOf(gateway: Gateway, { tool, id, startedAt, via }: SettledCall, toolId: string): JsonObject {
  const colon = toolId.indexOf(":");
  const policy = tool && !tool.builtin ? getPolicy(tool) : undefined;
  return {
    adapter: tool ? operationIds(gateway).adapterOf(tool.server) : toolId.slice(0, colon),
    tool: toolId.slice(colon + 1),
    request_id: id,
    timestamp: new Date(startedAt).toISOString(),
    ...(via && { via }),
    ...(tool &&
      policy && {
        operation: {
          risk_level: policy.riskLevel,
          idempotent: isIdempotent(tool),
          reversible: policy.reversible,
          category: tool.policy ? policy.category : categoryOf(tool),
        },
      }),
  };
}
