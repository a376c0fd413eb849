import {
  type CallRequest,
  GatewayError,
  isJsonObject,
  type SettledCall,
  type Tool,
  type ToolResult,
} from "../../../core/mod.ts";
import { invalidParams } from "../../lib/jsonrpc.ts";
import { callerNotes } from "../client/call-client.ts";
import { isQuestions } from "../client/input.ts";
import { runLongCall } from "../long-calls.ts";
import type { ExposedTool, View } from "../view.ts";
import { cacheable } from "./messages.ts";
import type { Handlers, Request } from "./request.ts";
import { toAnswer, toLegacyResult } from "./results.ts";

/** Handlers of the requests that concern tools. */
export function toolHandlers(view: Pick<View, "gateway" | "listTools" | "findTool">): Handlers {
  return {
    "tools/list": (_params, { isModern, info }) => ({
      tools: isModern ? view.listTools(info) : view.listTools(info).map(toLegacyTool),
      ...(isModern && cacheable),
    }),
    "tools/call": ({ name, arguments: args }, request) => {
      if (typeof name !== "string") throw invalidParams("A call needs the name of a tool.");
      return callTool(view, name, args, request);
    },
  };
}

/** Rejects with a `GatewayError` if the request itself is wrong; any other failure is a result that says so. */
function callTool(
  view: Pick<View, "gateway" | "findTool">,
  name: string,
  args: unknown,
  request: Request,
): Promise<ToolResult> {
  const { gateway } = view;
  const tool = view.findTool(name, request.info);
  if (!tool || !gateway) {
    return Promise.reject(new GatewayError("TOOL_NOT_FOUND", `There is no tool "${name}".`));
  }
  const { run } = gateway;
  const { results } = gateway.services;
  const { actor, client, input, meta, onProgress } = request;
  const call: CallRequest = {
    tool: tool.id,
    args,
    actor,
    cancellation: request,
    onProgress,
    input,
    meta,
    notes: callerNotes(request),
  };
  // A client refuses an unstructured answer of a tool with an output schema, so such an answer is never cut, and never
  // replaced by a link to the result.
  const keepStructured = tool.outputSchema !== undefined;
  const toResult = (settled: SettledCall): ToolResult => {
    const answer = toAnswer(settled, tool, request);
    const fits = !settled.ok || !results || isQuestions(answer);
    const result = fits ? answer : results.fit(answer, settled.actor, { keepStructured });
    return request.isModern ? result : toLegacyResult(result);
  };
  if (!results?.waitMs || keepStructured) return run(call).then(toResult);
  return runLongCall(run, call, { results, toResult, name: describe(tool, args), client });
}

/** The tool that a call is about: the one that its arguments name, if it executes another tool. */
function describe({ id, builtin }: Tool, args: unknown): string {
  const { server, tool } = isJsonObject(args) ? args : {};
  const isTarget = builtin && typeof server === "string" && typeof tool === "string";
  return `"${(isTarget ? `${server}:${tool}` : id).slice(0, 160)}"`;
}

/** A legacy client refuses a whole list if the output schema of one tool is not that of an object. */
function toLegacyTool(tool: ExposedTool): ExposedTool {
  const { outputSchema, ...rest } = tool;
  if (outputSchema === undefined) return tool;
  return isJsonObject(outputSchema) && outputSchema["type"] === "object" ? tool : (rest as ExposedTool);
}
