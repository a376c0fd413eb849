import type { JsonObject, Tool, ToolResult } from "../../core/mod.ts";
import { policyFor } from "../guard/policy.ts";
import type { Link } from "./link.ts";
import { isQuestion } from "./questions.ts";
import type { UpstreamMethod, UpstreamRequestOptions } from "./upstream.ts";

declare module "../../core/tool.ts" {
  interface Tool {
    /** What a server is asked for by a call, where that is no tool of its own. Such a one is in no catalog. */
    readonly request?: UpstreamMethod;
  }
}

const text = { type: "string" };
const object = { type: "object" };
const definitions: Readonly<
  Record<UpstreamMethod, { readonly description: string; readonly inputSchema: JsonObject }>
> = {
  "resources/read": {
    description: "Reads a resource of this server",
    inputSchema: { type: "object", properties: { uri: text }, required: ["uri"] },
  },
  "prompts/get": {
    description: "Gets a prompt of this server",
    inputSchema: { type: "object", properties: { name: text, arguments: object }, required: ["name"] },
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
 * The tool that a request besides those for tools is a call of, so that whatever decides over calls decides over it,
 * by its name. It says what the gateway knows of such a request, and nothing that its server said.
 */
export function impliedTool(server: string, request: UpstreamMethod): Tool {
  return {
    id: `${server}:${request}`,
    server,
    name: request,
    builtin: false,
    request,
    ...definitions[request],
    annotations: { readOnlyHint: true },
    policy: policyFor("low", server),
    tags: [],
    enabled: true,
  };
}

/** Makes such a request. What is answered has a form of its own, and so is kept whole within the result of a call. */
export async function answerTo(
  link: Pick<Link, "request">,
  request: UpstreamMethod,
  params: Readonly<JsonObject>,
  options: UpstreamRequestOptions,
): Promise<ToolResult> {
  const structuredContent = await link.request(request, params, options);
  if (!isQuestion(structuredContent)) return { content: [], structuredContent };
  const { inputRequests, requestState } = structuredContent;
  return { content: [], structuredContent, resultType: "input_required", inputRequests, requestState };
}
