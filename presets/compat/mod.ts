/**
 * The names of the specifications, over the parts of this package: the engine and its components as classes, the server,
 * and the discovery service. New programs use `toolpipe/presets/anygpt`.
 *
 * @module
 */

export type { ExecutionError } from "../../plugins/lib/jsonrpc.ts";
export type { ExecutionEvent } from "../anygpt/mod.ts";
export { CachingLayer } from "./caching-layer.ts";
export { ConfigurationLoader, ConfigurationManager, DEFAULT_CONFIG } from "./configuration.ts";
export { CompatEngine as DiscoveryEngine } from "./discovery-engine.ts";
export {
  ConfigurationError,
  DiscoveryError,
  type DiscoveryErrorOptions,
  MCPProtocolError,
  ServerConnectionError,
  ToolExecutionError,
  ToolNotFoundError,
  ValidationError,
} from "./errors.ts";
export {
  MCPCache,
  MCPDiscoveryError,
  MCPDiscoveryProvider,
  MCPDiscoveryService,
  type MCPDiscoveryServiceOptions,
  RuntimeMcpDiscovery,
} from "./mcp-discovery.ts";
export { applyToolRules, matchPattern, matchSinglePattern, PatternMatcher } from "./patterns.ts";
export { calculateRelevance, SearchEngine } from "./search-engine.ts";
export { MCPDiscoveryServer, ServerLifecycleManager } from "./server.ts";
export { ToolExecutionProxy } from "./tool-execution-proxy.ts";
export { ToolMetadataManager } from "./tool-metadata-manager.ts";
export type {
  CacheConfig,
  CompatConfig as DiscoveryConfig,
  CompatExecutionResult as ExecutionResult,
  CompatSearchOptions as SearchOptions,
  CompatSearchResult as SearchResult,
  CompatServerMetadata as ServerMetadata,
  CompatToolExample as ToolExample,
  CompatToolMetadata as ToolMetadata,
  CompatToolParameter as ToolParameter,
  CompatToolRule as ToolRule,
  ConfigSource,
  MCPServerConfig,
  ServerEntry,
  ValidationResult,
} from "./types.ts";
