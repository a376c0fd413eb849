/**
 * Serving a gateway to agents, over standard input and output or over HTTP.
 *
 * @module
 */

export { type ServePluginOptions, servePlugin } from "./client/call-client.ts";
export { type ClientLimits, clientLimits } from "./client/pending.ts";
export {
  type HttpServer,
  type HttpServerLimits,
  type HttpServerOptions,
  httpLimits,
  serveHttp,
} from "./http.ts";
export { createMcpServer, type McpServer, type McpServerOptions } from "./protocol/server.ts";
export { type StdioOptions, type StdioServer, type StdioStreams, serveStdio } from "./stdio.ts";
export { createView, type ExposedTool, type View } from "./view.ts";
