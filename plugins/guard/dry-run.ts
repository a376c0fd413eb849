import type { Call, Next, Tool } from "../../core/mod.ts";
import type {} from "../upstreams/openapi/operation.ts";

/** Answers a call that is only to be shown. The plugin `openapi` shows the requests of its operations itself. */
export function answerDryRun(call: Call, tool: Tool, next: Next): Promise<void> {
  if (tool.operation) return next();
  const request = { server: tool.server, tool: tool.name, arguments: call.args };
  const value = { dry_run: true, request };
  call.via = "dry run";
  call.result = { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
  return Promise.resolve();
}
