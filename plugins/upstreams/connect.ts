import type { JsonObject } from "../../core/mod.ts";
import { expandConnection } from "../sources/expand.ts";
import type { Machine } from "../sources/machine.ts";
import type { HttpConnection, ServerConfig } from "../sources/server-config.ts";
import { withoutSecrets } from "./_without-secrets.ts";
import type { McpUpstream } from "./mcp.ts";
import type { OAuthSettings } from "./oauth.ts";
import type { UpstreamEvents } from "./upstream.ts";

/** What a connection needs besides its definition. */
export interface ConnectContext {
  readonly machine: Machine;
  /** Where logins are kept. */
  readonly stateFolder: string;
  readonly events: UpstreamEvents;
  /** What a server of the older era is told that clients can be asked for. */
  readonly capabilities?: Readonly<JsonObject> | undefined;
  /** What an earlier connection remembered. */
  readonly prior: unknown;
  /** Ends the attempt to connect. */
  readonly signal: AbortSignal;
}

/** Connects to a server by whatever its definition says. Variables are filled in only now. */
export async function connectServer(config: ServerConfig, context: ConnectContext): Promise<McpUpstream> {
  const connection = await expandConnection(config, context.machine);
  const { name, startTimeoutMs } = config;
  const { prior, signal, stateFolder, capabilities } = context;
  return withoutSecrets(connection, context.events, async (events) => {
    const options = { name, startTimeoutMs, events, prior, signal, capabilities };
    if (connection.type === "stdio") {
      const { connectStdio } = await import("./connect-stdio.ts");
      return connectStdio(connection, options);
    }
    const { connectHttp } = await import("./http.ts");
    return connectHttp(connection, { ...options, stateFolder, oauth: oauthSettings(connection) });
  });
}

/** What a definition says of the client we are where a login is made. */
export function oauthSettings({ oauth }: HttpConnection): OAuthSettings | undefined {
  const port = Number(oauth?.redirectPort);
  return oauth && { ...oauth, redirectPort: Number.isInteger(port) ? port : undefined };
}
