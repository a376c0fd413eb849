/**
 * Connects to servers that speak the Model Context Protocol: over standard input and output, over streamable HTTP, and
 * over HTTP with server-sent events.
 *
 * @module
 */
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import {
  CONNECT_TIMEOUT,
  SPAWN_FAILED,
  UPSTREAM_STALLED,
  type UpstreamDriver,
} from "../../core/services/servers.ts";
import type { HttpConnection, StdioConnection } from "../../core/services/sources.ts";
import { stateFolder } from "../lib/folders.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";
import type { OAuthSettings } from "./oauth/session.ts";

/** Starts a process and speaks over its standard input and output. */
const stdio: UpstreamDriver = {
  async connect({ name, startTimeoutMs, connection }, options) {
    const { connectStdio } = await import("./stdio/connect.ts");
    return connectStdio(connection as StdioConnection, { name, startTimeoutMs, ...options });
  },
  load: () => Promise.all([import("./stdio/connect.ts"), import("@modelcontextprotocol/client")]),
};

/** Speaks streamable HTTP, or HTTP with server-sent events. */
const http: UpstreamDriver = {
  async connect({ name, startTimeoutMs, connection }, options) {
    const { connectHttp } = await import("./http/connect.ts");
    const own = connection as HttpConnection;
    const oauth = oauthSettings(own);
    return connectHttp(own, { name, startTimeoutMs, ...options, stateFolder: stateFolder(), oauth });
  },
};

/** Registers the upstream drivers `stdio`, `http` and `sse`. The MCP client is loaded with the first connection. */
export const mcp: PluginFactory<"mcp"> = definePlugin({
  name: "mcp",
  uses: [],
  errors: { SPAWN_FAILED, CONNECT_TIMEOUT, UPSTREAM_STALLED, SSRF_BLOCKED },
  setup(gateway) {
    gateway.register("upstream", "stdio", stdio);
    gateway.register("upstream", "http", http);
    gateway.register("upstream", "sse", http);
  },
});

/** Reads the OAuth client of a definition. */
export function oauthSettings({ oauth }: HttpConnection): OAuthSettings | undefined {
  const port = Number(oauth?.redirectPort);
  return oauth && { ...oauth, redirectPort: Number.isInteger(port) ? port : undefined };
}
