import { isJsonObject, type ToolResult } from "../../core/mod.ts";
import type { ShownTool } from "./front.ts";

/** Tools as the older era takes them: it knows only structure that is an object, and refuses a whole list otherwise. */
export function legacyTools(tools: readonly ShownTool[]): readonly ShownTool[] {
  return tools.map((tool) => {
    const { outputSchema, ...rest } = tool;
    if (outputSchema === undefined) return tool;
    return isJsonObject(outputSchema) && outputSchema["type"] === "object" ? tool : (rest as ShownTool);
  });
}

/** A result in the same way: what is a list or a single value is put into an object. */
export function legacyResult(result: ToolResult): ToolResult {
  const { structuredContent: value } = result;
  if (value === undefined || isJsonObject(value)) return result;
  return { ...result, structuredContent: { result: value } };
}
