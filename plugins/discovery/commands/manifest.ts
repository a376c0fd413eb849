import type { Tool, ToolDefinition } from "../../../core/mod.ts";
import type {} from "../../../core/services/adapters.ts";
import type { CapabilityManifest } from "../../../core/services/emitter.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { inferTags } from "../gateway-discovery.ts";
import { toManifest, toSafeName } from "../manifest.ts";

/** Describes a tool of a server for the export. */
export function exportedTool(tool: ToolDefinition, config: ServerConfig): CapabilityManifest {
  return toManifest(tool, config, inferTags);
}

/** Describes a tool without a server definition: of an API, or of the gateway itself. */
export function exportedOwnTool(tool: Tool): CapabilityManifest {
  const { name, server, description = "", inputSchema, outputSchema } = tool;
  const type = tool.operation ? "openapi" : "toolpipe";
  return {
    id: `${type}.${toSafeName(server)}.${toSafeName(name)}`,
    version: "1.0.0",
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    provider: { type, toolName: name },
    ...inferTags(server, tool),
  };
}
