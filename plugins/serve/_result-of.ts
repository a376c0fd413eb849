import type { GatewayError, SettledCall, ToolResult } from "../../core/mod.ts";

/** What a call that is over is to whoever called: its result, or one that says why there is none. */
export function resultOf(settled: SettledCall): ToolResult {
  return settled.ok ? settled.result : failure(settled, settled.error);
}

/** What an agent can read and act on: the specification's error object, with nothing of a stack or a cause. */
function failure(call: SettledCall, error: GatewayError): ToolResult {
  const asked = call.tool?.builtin ? call.args : { server: call.tool?.server, tool: call.tool?.name };
  const { server, tool } = asked as { server?: unknown; tool?: unknown };
  const body = { code: error.kind.spec, message: error.message, server, tool };
  return {
    content: [{ type: "text", text: JSON.stringify({ success: false, error: body }) }],
    isError: true,
  };
}
