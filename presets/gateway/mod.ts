/**
 * The preset of the gateway specification: five tools for an agent in place of every operation of REST APIs and MCP
 * servers, with guarded execution.
 *
 * @module
 */
export { type Discovery, discovery } from "./discovery.ts";
export { type IntentRankerOptions, intentRanker } from "./intent-ranker.ts";
export type { DiscoveryOptions, ToolMode, ToolNameStyle } from "./options.ts";
export { overlays } from "./overlays.ts";
export { gateway } from "./preset.ts";
export type { OperationRegistry } from "./registry.ts";
export { type Registry, type RegistryOptions, registry } from "./registry-plugin.ts";
