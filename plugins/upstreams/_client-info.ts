import type { Client } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../core/mod.ts";
import { clientInfo } from "./_mcp-handshake.ts";
import type { UpstreamInfo } from "./upstream.ts";

/** What the client writes into each message of the newer era. */
export function envelopeOf(client: Client, capabilities: Readonly<JsonObject> = {}): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": client.getNegotiatedProtocolVersion(),
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

/** Who the server at the other end says it is. */
export function infoOf(client: Client): UpstreamInfo {
  const server = client.getServerVersion();
  return {
    name: server?.name,
    title: server?.title,
    version: server?.version,
    instructions: client.getInstructions(),
    protocolVersion: client.getNegotiatedProtocolVersion(),
    capabilities: client.getServerCapabilities() as JsonObject | undefined,
  };
}
