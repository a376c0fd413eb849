import type { ToolDefinition } from "../../core/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import type { CapabilityProvider } from "../types/manifest.ts";
import type { CapabilityManifest, DiscoveredTool } from "./discovered.ts";
import { safeName } from "./safe-name.ts";

/** What a tool is about and what it does. */
export interface Inferred {
  readonly domains: readonly string[];
  readonly categories: readonly string[];
}

/** Makes out from names what a tool is about and what it does. */
export type InferDomains = (server: string, tool: ToolDefinition) => Inferred;

const VERSION = "1.0.0";

/** The id of the capability that a tool is. */
export function capabilityId(server: string, tool: string): string {
  return `mcp.${safeName(server)}.${safeName(tool)}`;
}

/** A tool as a capability. What was made out when it was discovered is kept; else it is made out now. */
export function manifestOf(
  tool: ToolDefinition | DiscoveredTool,
  config: ServerConfig,
  inferDomains: InferDomains,
): CapabilityManifest {
  const { name, description = "", inputSchema, outputSchema } = tool;
  const { domains, categories } = "domains" in tool ? tool : inferDomains(config.name, tool);
  return {
    id: capabilityId(config.name, name),
    name,
    version: VERSION,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    provider: providerOf(config, name),
    domains,
    categories,
  };
}

/** Manifests are written to files that others read, so without what may be secret: arguments, users, queries. */
function providerOf({ connection }: ServerConfig, toolName: string): CapabilityProvider {
  if (connection.type === "stdio") return { type: "mcp", command: [connection.command], toolName };
  // Not by a URL parser: variables in it are still as written.
  const serverUrl = connection.url.replace(/^(\w+:\/\/)[^/?#]*@/, "$1").replace(/[?#].*$/s, "");
  return { type: "mcp", serverUrl, toolName };
}
