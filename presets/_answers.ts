import {
  type CallRequest,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ToolResult,
  textResult,
} from "../core/mod.ts";
import type { Search } from "../plugins/search/mod.ts";

/** A value as compact JSON text: indentation would cost an agent tokens. */
export function jsonResult(value: unknown): ToolResult {
  return textResult(JSON.stringify(value));
}

/** Runs the call that a meta-tool is made for, and answers with what the tool answered. */
export async function runInner(gateway: Gateway, request: CallRequest): Promise<ToolResult> {
  const inner = await gateway.run(request);
  if (!inner.ok) throw inner.error;
  return inner.result;
}

/** The search of the gateway a meta-tool runs in. */
export function searchOf(gateway: Gateway): Search {
  const { search } = gateway.services;
  if (!search)
    throw new GatewayError("PLUGIN_INVALID", 'This preset needs the plugin "search", which is not there.');
  return search;
}

/** One parameter of a tool. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonObject;
}

/** The parameters of a tool, from its input schema. */
export function parametersOf(inputSchema: JsonObject): Parameter[] {
  // Its server wrote the schema, so nothing in it is certain: one odd tool must not spoil a list of them.
  const properties = isJsonObject(inputSchema["properties"]) ? inputSchema["properties"] : {};
  const required = Array.isArray(inputSchema["required"]) ? inputSchema["required"] : [];
  return Object.entries(properties).map(([name, given]) => {
    const schema = isJsonObject(given) ? given : {};
    const { description } = schema;
    return {
      name,
      description: typeof description === "string" ? description : "",
      required: required.includes(name),
      schema,
    };
  });
}
