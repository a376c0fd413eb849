/**
 * The preset of the AnyGPT specification: five tools for an agent in place of every definition, and the engine
 * behind them as a library.
 *
 * @module
 */

export type { ExecutionError } from "../../plugins/lib/jsonrpc.ts";
export type { ServerMetadata } from "../../plugins/lib/servers.ts";
export { type AnswersOptions, answers, type DetailsStyle } from "./answers.ts";
export { describeAnygptTools, writeAnygptInstructions } from "./describe.ts";
export type { ToolExample, ToolParameter } from "./details.ts";
export { createDiscoveryEngine, type DiscoveryConfig, type DiscoveryEngine } from "./discovery-engine.ts";
export {
  createEngine,
  type Engine,
  type ExecuteOptions,
  type ExecutionEvent,
  type SearchToolsOptions,
  type ToolMetadata,
} from "./engine.ts";
export type { ExecutionResult } from "./envelope.ts";
export type { SearchResult } from "./pack.ts";
export { anygpt } from "./preset.ts";
