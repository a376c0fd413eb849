import type { Tool, ToolDefinition } from "../../core/mod.ts";
import type { CapabilityManifest, CapabilityProvider } from "../../core/services/emitter.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import type { DiscoveredTool, NamedCapability } from "./discovered.ts";
import { inferCategories } from "./domains/categories.ts";
import { inferDomains } from "./domains/domains.ts";
import { toReadableName } from "./safe-names.ts";

/** Infers domains and categories from the names of a server and its tool. */
export type InferTags = (
  server: string,
  tool: ToolDefinition,
) => { readonly domains: readonly string[]; readonly categories: readonly string[] };

/** Infers the domains and categories of a tool from the names of its server and of itself. */
export const inferTags: InferTags = (server, tool) => ({
  domains: inferDomains(server, tool.name),
  categories: inferCategories(tool.name, tool),
});

const VERSION = "1.0.0";

/** Names that ids are to be told apart by. */
export interface NamesInUse {
  readonly servers?: Iterable<string> | undefined;
  readonly tools?: Iterable<string> | undefined;
}

/** Returns the id of the capability that a tool is. */
function capabilityId(type: string, server: string, tool: string, known: NamesInUse): string {
  return `${type}.${toReadableName(server, known.servers)}.${toReadableName(tool, known.tools)}`;
}

/** Describes a tool as a capability. Domains and categories are inferred unless the tool has them. */
export function toManifest(
  tool: ToolDefinition | DiscoveredTool,
  config: ServerConfig,
  inferTags: InferTags,
  known: NamesInUse = {},
): NamedCapability {
  const { name, description = "", inputSchema, outputSchema } = tool;
  const { domains, categories } = "domains" in tool ? tool : inferTags(config.name, tool);
  return {
    id: capabilityId("mcp", config.name, name, known),
    name,
    version: VERSION,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    provider: toProvider(config, name),
    domains,
    categories,
  };
}

/** Leaves out what may be secret (arguments, users, queries): manifests are written to files that others read. */
function toProvider({ connection }: ServerConfig, toolName: string): CapabilityProvider {
  if (connection.type === "stdio") return { type: "mcp", command: [connection.command], toolName };
  // Without a URL parser: its variables are not filled in.
  const serverUrl = connection.url.replace(/^(\w+:\/\/)[^/?#]*@/, "$1").replace(/[?#].*$/s, "");
  return { type: "mcp", serverUrl, toolName };
}

/** Describes a tool of a server for the export. */
export function exportedTool(
  tool: ToolDefinition,
  config: ServerConfig,
  known: NamesInUse,
): CapabilityManifest {
  return toManifest(tool, config, inferTags, known);
}

/** Describes a tool without a server definition: of an API, or of the gateway itself. */
export function exportedOwnTool(tool: Tool, known: NamesInUse): CapabilityManifest {
  const { name, server, description = "", inputSchema, outputSchema } = tool;
  const type = tool.operation ? "openapi" : "toolpipe";
  return {
    id: capabilityId(type, server, name, known),
    version: VERSION,
    description,
    inputSchema,
    ...(outputSchema && { outputSchema }),
    provider: { type, toolName: name },
    ...inferTags(server, tool),
  };
}
