/**
 * Serving a gateway to agents, over standard input and output or over HTTP.
 *
 * @module
 */
export type { ListName } from "./_list-changes.ts";
export { type AskLimits, askLimits } from "./_served-client.ts";
export {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type Client,
  type ClientCapability,
  type Clients,
  offerLogging,
  QUESTIONS_FULL,
} from "./client.ts";
export { createFront, type Front, type FrontCallOptions, type ShownTool } from "./front.ts";
export { type HttpLimits, type HttpOptions, type HttpServer, httpLimits, serveHttp } from "./http.ts";
export { createPeer, type Peer, type PeerParts } from "./peer.ts";
export {
  type Completion,
  type CompletionRequest,
  offerPrompts,
  PROMPT_NOT_FOUND,
  type Prompt,
  type PromptOptions,
  type PromptProvider,
  type PromptResult,
  type Prompts,
} from "./prompts.ts";
export {
  offerResources,
  RESOURCE_NOT_FOUND,
  type ReadOptions,
  type Resource,
  type ResourceContents,
  type ResourceProvider,
  type ResourceResult,
  type Resources,
  type ResourceTemplate,
  type WatchOptions,
} from "./resources.ts";
export { offerRoute, type Route, type Routes } from "./routes.ts";
export { type StdioOptions, type StdioServer, type StdioStreams, serveStdio } from "./stdio.ts";
