/**
 * Serving a gateway to agents, over standard input and output or over HTTP.
 *
 * @module
 */

export {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type Client,
  type ClientCapability,
  type Clients,
  QUESTIONS_FULL,
} from "../../core/services/clients.ts";
export type { Route } from "../../core/services/http.ts";
export {
  type Completion,
  type CompletionRequest,
  PROMPT_NOT_FOUND,
  type Prompt,
  type PromptOptions,
  type PromptProvider,
  type PromptResult,
  RESOURCE_NOT_FOUND,
  type ReadOptions,
  type Resource,
  type ResourceContents,
  type ResourceProvider,
  type ResourceResult,
  type ResourceTemplate,
  type WatchOptions,
} from "../../core/services/resources.ts";
export type { ListName } from "./changes.ts";
export { type ClientLimits, clientLimits } from "./client/pending.ts";
export {
  type HttpServer,
  type HttpServerLimits,
  type HttpServerOptions,
  httpLimits,
  serveHttp,
} from "./http.ts";
export { type ServePluginOptions, servePlugin } from "./plugin.ts";
export type { ClientConnection, ClientConnectionOptions } from "./protocol/connection.ts";
export { createMcpServer, type McpServer, type McpServerOptions } from "./protocol/server.ts";
export { type StdioOptions, type StdioServer, type StdioStreams, serveStdio } from "./stdio.ts";
export { createView, type ExposedTool, type View } from "./view.ts";
