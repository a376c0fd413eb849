/**
 * Connects to servers that speak the Model Context Protocol: over standard input and output, over streamable HTTP, and
 * over HTTP with server-sent events.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import {
  CONNECT_TIMEOUT,
  SPAWN_FAILED,
  UPSTREAM_STALLED,
  type UpstreamDriver,
} from "../../core/services/servers.ts";
import type { HttpConnection, ServerConfig, StdioConnection } from "../../core/services/sources.ts";
import { stateFolder } from "../lib/folders.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";
import type { OAuthSettings } from "./oauth/session.ts";
import type { ConnectMcpOptions } from "./session.ts";

type ConnectionLimits = Pick<ConnectMcpOptions, "name" | "startTimeoutMs" | "listTimeoutMs">;

/** Starts a process and speaks over its standard input and output. */
const stdio: UpstreamDriver = {
  async connect(config, options) {
    const { connectStdio } = await import("./stdio/connect.ts");
    return connectStdio(config.connection as StdioConnection, { ...toLimits(config), ...options });
  },
  load: () => Promise.all([import("./stdio/connect.ts"), import("@modelcontextprotocol/client")]),
};

/** Speaks streamable HTTP, or HTTP with server-sent events. */
const http: UpstreamDriver = {
  async connect(config, options) {
    const { connectHttp } = await import("./http/connect.ts");
    const own = config.connection as HttpConnection;
    const oauth = oauthSettings(own);
    return connectHttp(own, { ...toLimits(config), ...options, stateFolder: stateFolder(), oauth });
  },
};

/** Reads the time limits of a definition. Both of its limits hold for the lists, which are read at the start. */
function toLimits({ name, startTimeoutMs, callTimeoutMs }: ServerConfig): ConnectionLimits {
  const limits = [startTimeoutMs, callTimeoutMs].filter((ms) => ms !== undefined);
  return { name, startTimeoutMs, listTimeoutMs: limits.length > 0 ? Math.min(...limits) : undefined };
}

/** Registers the upstream drivers `stdio`, `http` and `sse`. The MCP client is loaded with the first connection. */
export const mcp: PluginFactory<"mcp"> = definePlugin({
  name: "mcp",
  uses: [],
  errors: { SPAWN_FAILED, CONNECT_TIMEOUT, UPSTREAM_STALLED, SSRF_BLOCKED },
  setup(gateway) {
    gateway.register("upstream", "stdio", stdio);
    gateway.register("upstream", "http", http);
    gateway.register("upstream", "sse", http);
    // In the background: no start waits for servers of another gateway.
    return { ready: () => void endOrphans() };
  },
});

/** Ends the servers of gateways that were killed. What does so is loaded only where a gateway has left a record. */
async function endOrphans(): Promise<void> {
  try {
    const records = await readdir(join(stateFolder(), "servers"));
    if (records.length > 0) await (await import("./stdio/reap.ts")).reapOrphans();
  } catch {
    // There is no record, or it cannot be read; then nothing is known of such servers.
  }
}

/** Reads the OAuth client of a definition. */
export function oauthSettings({ oauth }: HttpConnection): OAuthSettings | undefined {
  const port = Number(oauth?.redirectPort);
  return oauth && { ...oauth, redirectPort: Number.isInteger(port) ? port : undefined };
}
