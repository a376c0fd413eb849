/**
 * The preset of the AnyGPT specification: five tools for an agent in place of every definition, and the engine
 * behind them as a library.
 *
 * @module
 */
export { type Answers, answers } from "./_anygpt/answers.ts";
export { describeTools, instructions } from "./_anygpt/describe.ts";
export type { ToolExample, ToolParameter } from "./_anygpt/details.ts";
export {
  createDiscoveryEngine,
  type DiscoveryConfig,
  type DiscoveryEngine,
} from "./_anygpt/discovery-engine.ts";
export {
  type Engine,
  type ExecuteOptions,
  type ExecutionEvent,
  type ExecutionResult,
  engineOf,
  type SearchOptions,
  type ToolMetadata,
} from "./_anygpt/engine.ts";
export type { ExecutionError } from "./_anygpt/failure.ts";
export type { AnswersOptions, DetailsStyle } from "./_anygpt/options.ts";
export type { SearchResult } from "./_anygpt/pack.ts";
export { anygpt } from "./_anygpt/preset.ts";
export type { ServerMetadata } from "./_anygpt/servers.ts";
