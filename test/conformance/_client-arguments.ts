import { isJsonObject, type JsonObject, type ToolDefinition } from "../../core/mod.ts";

/** Arguments that a tool accepts: a value for each that it requires. */
export function makeArguments(tool: ToolDefinition, all: readonly ToolDefinition[]): JsonObject {
  const { properties, required } = tool.inputSchema;
  if (!isJsonObject(properties) || !Array.isArray(required)) return {};
  return Object.fromEntries(
    required.map((key) => [String(key), makeValue(properties[String(key)], tool, all)]),
  );
}

function makeValue(schema: unknown, tool: ToolDefinition, all: readonly ToolDefinition[]): unknown {
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  if (type === "number" || type === "integer") return 2;
  if (type === "boolean") return true;
  if (type === "array") return [];
  // A tool that takes an object wants to see the schema of another as it came.
  if (type === "object") return all.find((other) => other !== tool)?.inputSchema ?? {};
  return "text";
}
