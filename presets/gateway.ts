/**
 * The preset of the gateway specification: five tools for an agent in place of every operation of REST APIs and MCP
 * servers, with guarded execution.
 *
 * @module
 */
export { type Discovery, discovery } from "./_gateway/discovery.ts";
export { type IntentRankerOptions, intentRanker } from "./_gateway/intent-ranker.ts";
export type { DiscoveryOptions, ToolMode, ToolNameStyle } from "./_gateway/options.ts";
export { overlays } from "./_gateway/overlays.ts";
export { gateway } from "./_gateway/preset.ts";
export type { OperationRegistry } from "./_gateway/registry.ts";
export { type Registry, type RegistryOptions, registry } from "./_gateway/registry-plugin.ts";
