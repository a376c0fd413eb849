/**
 * Serving a gateway to agents, over standard input and output or over HTTP.
 *
 * @module
 */
export { createFront, type Front, type FrontCallOptions, type ShownTool } from "./front.ts";
export { type HttpLimits, type HttpOptions, type HttpServer, httpLimits, serveHttp } from "./http.ts";
export { createPeer, type Peer, type PeerParts } from "./peer.ts";
export {
  offerResources,
  RESOURCE_NOT_FOUND,
  type ReadOptions,
  type Resource,
  type ResourceContents,
  type ResourceProvider,
  type ResourceResult,
  type Resources,
} from "./resources.ts";
export { type StdioServer, type StdioStreams, serveStdio } from "./stdio.ts";
