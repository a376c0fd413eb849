import {
  type CallRequest,
  errorKinds,
  type Gateway,
  type GatewayError,
  type SettledCall,
  type ToolResult,
} from "../../core/mod.ts";
import { findTool } from "../../plugins/lib/servers.ts";
import { explainArguments } from "./argument-fault.ts";
import { noTool } from "./not-found.ts";

/** A tool, and what it is called with. */
export interface Target {
  readonly server: string;
  readonly tool: string;
  readonly args: unknown;
}

/**
 * Runs a tool and answers what it answers, unchanged. Throws the error of the call, with what helps to do
 * better: the tools that are there, or how this one is called.
 */
export async function runTarget(
  gateway: Gateway,
  { server, tool, args }: Target,
  request: Omit<CallRequest, "tool" | "args"> = {},
): Promise<ToolResult> {
  const id = `${server}:${tool}`;
  // Another tool may have the same id: one of the gateway's own, which are called as themselves.
  if (gateway.catalog.tool(id) && !findTool(gateway, server, tool)) throw await noTool(gateway, server, tool);
  const call = await gateway.run({ ...request, tool: id, args });
  if (call.ok) return call.result;
  throw await explained(gateway, call, { server, tool, args });
}

async function explained(
  gateway: Gateway,
  call: SettledCall,
  { server, tool, args }: Target,
): Promise<GatewayError> {
  const error = call.error as GatewayError;
  if (call.stage === "resolve" && error.code === errorKinds.TOOL_NOT_FOUND.code)
    return noTool(gateway, server, tool);
  if (call.stage === "validate" && error.code === errorKinds.INVALID_ARGUMENTS.code && call.tool)
    return explainArguments(error, call.tool, args);
  return error;
}
