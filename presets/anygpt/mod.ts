/**
 * The preset of the AnyGPT specification: five tools for an agent in place of every definition, and the engine
 * behind them as a library.
 *
 * @module
 */

export type { ServerMetadata } from "../../plugins/lib/servers.ts";
export { type Answers, answers } from "./answers.ts";
export { describeTools, instructions } from "./describe.ts";
export type { ToolExample, ToolParameter } from "./details.ts";
export {
  createDiscoveryEngine,
  type DiscoveryConfig,
  type DiscoveryEngine,
} from "./discovery-engine.ts";
export {
  type Engine,
  type ExecuteOptions,
  type ExecutionEvent,
  type ExecutionResult,
  engineOf,
  type SearchOptions,
  type ToolMetadata,
} from "./engine.ts";
export type { ExecutionError } from "./failure.ts";
export type { AnswersOptions, DetailsStyle } from "./options.ts";
export type { SearchResult } from "./pack.ts";
export { anygpt } from "./preset.ts";
