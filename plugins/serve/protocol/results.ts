import {
  type GatewayError,
  isJsonObject,
  type SettledCall,
  type Tool,
  type ToolResult,
} from "../../../core/mod.ts";
import { CLIENT_CANNOT } from "../../../core/services/clients.ts";
import { invalidParams } from "../../lib/jsonrpc.ts";
import { clientCannot } from "../client/capability.ts";
import { isQuestions, isRefusedState } from "../client/input.ts";
import type { Request } from "./request.ts";

/** The answer to a client whose call has ended. Throws if the request itself was wrong. */
export function toAnswer(
  settled: SettledCall,
  tool: Tool,
  { client, input }: Pick<Request, "client" | "input">,
): ToolResult {
  const isModern = client?.protocol === "modern";
  if (settled.ok) {
    if (isModern || !isQuestions(settled.result)) return settled.result;
    // A legacy client cannot be handed questions: a server has to ask by a request.
    const error = clientCannot("input_required", {});
    return toToolResult({ ...settled, ok: false, result: undefined, error });
  }
  // A call of one of the gateway's own tools that ended before its execution was wrong in itself.
  if (tool.builtin && settled.stage !== "execute") throw settled.error;
  // The modern protocol has an error code for a missing capability, by which a client knows what it lacks.
  if (isModern && settled.error.code === CLIENT_CANNOT.code) throw settled.error;
  if (isModern && isRefusedState(settled.error, input)) throw invalidParams(settled.error.message);
  return toToolResult(settled);
}

/** The result of a call that has ended; if it failed, a result that says why. */
export function toToolResult(settled: SettledCall): ToolResult {
  return settled.ok ? settled.result : toFailure(settled, settled.error);
}

/** A result for a legacy client, which takes structured content only as an object. */
export function toLegacyResult(result: ToolResult): ToolResult {
  const { structuredContent: value } = result;
  if (value === undefined || isJsonObject(value)) return result;
  return { ...result, structuredContent: { result: value } };
}

/** The specification's error object, for an agent to read and act on, without stack or cause. */
function toFailure(call: SettledCall, error: GatewayError): ToolResult {
  const target = call.tool?.builtin ? call.args : { server: call.tool?.server, tool: call.tool?.name };
  const { server, tool } = target as { server?: unknown; tool?: unknown };
  const body = { code: error.kind.spec, message: error.message, server, tool };
  return {
    content: [{ type: "text", text: JSON.stringify({ success: false, error: body }) }],
    isError: true,
  };
}
