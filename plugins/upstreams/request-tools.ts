import type { JsonObject, Tool, ToolResult } from "../../core/mod.ts";
import { createPolicy } from "../../core/services/policy.ts";
import type { UpstreamMethod, UpstreamRequestOptions } from "../../core/services/servers.ts";
import type { PooledConnection } from "./connection.ts";
import { isInputRequired } from "./send-call.ts";

const string = { type: "string" };
const object = { type: "object" };
const definitions: Readonly<
  Record<UpstreamMethod, { readonly description: string; readonly inputSchema: JsonObject }>
> = {
  "resources/read": {
    description: "Reads a resource of this server",
    inputSchema: { type: "object", properties: { uri: string }, required: ["uri"] },
  },
  "prompts/get": {
    description: "Gets a prompt of this server",
    inputSchema: { type: "object", properties: { name: string, arguments: object }, required: ["name"] },
  },
  "completion/complete": {
    description: "Completes an argument of a prompt, or a variable of a resource template, of this server",
    inputSchema: {
      type: "object",
      properties: { ref: object, argument: object, context: object },
      required: ["ref", "argument"],
    },
  },
};

/**
 * Describes a request that is not a tool call as a tool, so that policies and rules apply to it by its name. The
 * description is the gateway's own and holds nothing that the server sent.
 */
export function createRequestTool(server: string, method: UpstreamMethod): Tool {
  return {
    id: `${server}:${method}`,
    server,
    name: method,
    builtin: false,
    request: method,
    ...definitions[method],
    annotations: { readOnlyHint: true },
    policy: createPolicy("low", server),
    tags: [],
    enabled: true,
  };
}

/** Makes the request of such a tool. Its result has a form of its own, which is kept whole in the result of the call. */
export async function sendRequest(
  connection: Pick<PooledConnection, "request">,
  method: UpstreamMethod,
  params: Readonly<JsonObject>,
  options: UpstreamRequestOptions,
): Promise<ToolResult> {
  const structuredContent = await connection.request(method, params, options);
  if (!isInputRequired(structuredContent)) return { content: [], structuredContent };
  const { inputRequests, requestState } = structuredContent;
  return { content: [], structuredContent, resultType: "input_required", inputRequests, requestState };
}
