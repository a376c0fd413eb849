import type { Tool, ToolDefinition } from "../../core/mod.ts";
import { manifestOf } from "../discovery/manifest.ts";
import { enriching } from "../discovery/mod.ts";
import { safeName } from "../discovery/safe-name.ts";
import type { ServerConfig } from "../sources/mod.ts";
import type { CapabilityManifest } from "../types/manifest.ts";
import type {} from "../upstreams/openapi/operation.ts";

/** A tool of a server as it is exported. */
export function exportedTool(tool: ToolDefinition, config: ServerConfig): CapabilityManifest {
  return manifestOf(tool, config, enriching.inferDomains);
}

/** A tool of the catalog whose server no definition has: an API, or a part of the gateway. */
export function exportedOwnTool(tool: Tool): CapabilityManifest {
  const { name, server, description = "", inputSchema, outputSchema } = tool;
  const type = tool.operation ? "openapi" : "toolpipe";
  return {
    id: `${type}.${safeName(server)}.${safeName(name)}`,
    version: "1.0.0",
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    provider: { type, toolName: name },
    ...enriching.inferDomains(server, tool),
  };
}
