import type { JsonObject } from "../../core/mod.ts";

const text = { type: "string" };
const count = { type: "integer" };
const flag = { type: "boolean" };
const texts = { type: "array", items: text };

function object(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required };
}

function listOf(items: JsonObject): JsonObject {
  return { type: "array", items };
}

const parameter = object({ name: text, type: text, description: text, required: flag });

/** What the meta-tools answer with, where structured answers are asked for. `execute_tool` answers what its tool does. */
export const outputSchemas: Readonly<Record<string, JsonObject>> = {
  list_mcp_servers: object(
    {
      servers: listOf(
        object(
          {
            name: text,
            description: text,
            toolCount: count,
            enabledCount: count,
            status: text,
            reason: text,
          },
          ["enabledCount", "reason"],
        ),
      ),
      more: count,
      next: text,
    },
    ["more", "next"],
  ),
  search_tools: object(
    {
      results: listOf(
        object({ server: text, tool: text, summary: text, relevance: { type: "number" }, tags: texts }),
      ),
      more: count,
      nearest: texts,
      notSearched: texts,
    },
    ["more", "nearest", "notSearched"],
  ),
  list_tools: object(
    {
      server: text,
      tools: listOf(object({ name: text, summary: text, enabled: flag, tags: texts })),
      more: count,
      next: text,
    },
    ["more", "next"],
  ),
  get_tool_details: object(
    {
      server: text,
      tool: text,
      description: text,
      parameters: listOf(parameter),
      signature: text,
      inputSchema: { type: "object" },
      examples: listOf(object({ description: text, parameters: { type: "object" } })),
    },
    ["parameters", "signature", "inputSchema", "examples"],
  ),
};
