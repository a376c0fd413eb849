import type {
  ContentBlock,
  Gateway,
  GatewayError,
  JsonObject,
  SettledCall,
  ToolResult,
} from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { describeError, describeToolError, isHttpResult } from "./failure.ts";
import { getCategory, getOperationIds, isIdempotent } from "./operations.ts";

/** Answer to the execution of an operation. */
export interface Envelope {
  /** The answer as JSON, assembled as a string so that data keeps every digit. */
  readonly json: string;
  /** Content of the result that is not data. */
  readonly rest: readonly ContentBlock[];
  readonly isError: boolean;
  readonly meta: JsonObject | undefined;
}

/** Numbers that parsing would change: too many digits, or too large. */
const UNSAFE_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

/** Wraps the outcome of a call, under the id that the caller gave. */
export function createEnvelope(
  gateway: Gateway,
  call: SettledCall,
  { id, error = call.error }: { readonly id: string; readonly error?: GatewayError | undefined },
): Envelope {
  const head = { tool_id: id, execution_time_ms: Math.round(call.durationMs) };
  const meta = describeCall(gateway, call, id);
  if (error || !call.ok) {
    const failure = describeError(gateway, error ?? (call.error as GatewayError), call.tool);
    return toErrorEnvelope({ ...head, error: failure, meta });
  }
  const { result } = call;
  const isError = result.isError === true;
  const { json: data, rest: blocks } = readResultData(result);
  // The text of a failed API is its body once more.
  const rest = isError && isHttpResult(result) ? blocks.filter(({ type }) => type !== "text") : blocks;
  const failure = isError && { error: describeToolError(gateway, result, call.tool) };
  const start = JSON.stringify({ success: !isError, ...head, ...failure }).slice(0, -1);
  return {
    json: `${start},"data":${data},"meta":${JSON.stringify(meta)}}`,
    rest,
    isError,
    meta: result._meta,
  };
}

/** Wraps the failure of a call that was never made. */
export function toErrorEnvelope(body: JsonObject): Envelope {
  return { json: JSON.stringify({ success: false, ...body }), rest: [], isError: true, meta: undefined };
}

/** Converts an answer to a tool result, with the next step: content that is not data follows the JSON. */
export function fromEnvelope({ json, rest, isError, meta }: Envelope, nextStep: string): ToolResult {
  const text = `${json.slice(0, -1)},"next_step":${JSON.stringify(nextStep)}}`;
  return {
    content: [{ type: "text", text }, ...rest],
    ...(isError && { isError }),
    ...(meta && { _meta: meta }),
  };
}

function describeCall(
  gateway: Gateway,
  { tool, id, startedAt, via }: SettledCall,
  toolId: string,
): JsonObject {
  const colon = toolId.indexOf(":");
  const policy = tool && !tool.builtin ? getPolicy(tool) : undefined;
  return {
    adapter: tool ? getOperationIds(gateway).getAdapterId(tool.server) : toolId.slice(0, colon),
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
          category: tool.policy ? policy.category : getCategory(tool),
        },
      }),
  };
}

/** Reads the data of a result: its structured content, else its text, parsed where it is JSON. */
export function readResultData({ content, structuredContent }: ToolResult) {
  const isText = (block: ContentBlock): boolean => block.type === "text" && typeof block["text"] === "string";
  if (structuredContent !== undefined) {
    const json = JSON.stringify(structuredContent) ?? "null";
    // The protocol wants structured content repeated as text, which has every digit.
    const same = content.find((block) => isText(block) && parseText(String(block["text"]))?.compact === json);
    return {
      json: same ? (parseText(String(same["text"]))?.exact ?? json) : json,
      rest: content.filter((block) => block !== same),
    };
  }
  const texts = content.filter(isText).map((block) => String(block["text"]));
  const rest = content.filter((block) => !isText(block));
  const values = texts.map((text) => parseText(text)?.exact ?? JSON.stringify(text));
  return {
    json: values.length > 1 ? `[${values.join(",")}]` : (values[0] ?? "null"),
    /** Images, audio, resources and the like, unchanged: within JSON they would be strings of no use. */
    rest,
  };
}

/** Parses an object or a list: in compact form, and with its numbers as they were. */
function parseText(text: string): { readonly compact: string; readonly exact: string } | undefined {
  const trimmed = text.trim();
  if (!/^[{[]/.test(trimmed)) return undefined;
  try {
    const compact = JSON.stringify(JSON.parse(trimmed));
    return { compact, exact: UNSAFE_NUMBER.test(trimmed) ? trimmed : compact };
  } catch {
    return undefined;
  }
}
