import type { ToolResult } from "../../../core/mod.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import {
  type ConnectHttpOptions,
  connectHttp,
  type HttpUpstream,
} from "../../../plugins/mcp/http/connect.ts";

/** The definition of a server by its URL. */
export function remote(url: string, more: Partial<HttpConnection> = {}): HttpConnection {
  return { type: "http", url, headers: {}, ...more };
}

/** Connects, and closes when the block of the caller ends. */
export async function connected(
  connection: HttpConnection | string,
  options: Partial<ConnectHttpOptions> = {},
): Promise<HttpUpstream & AsyncDisposable> {
  const definition = typeof connection === "string" ? remote(connection) : connection;
  const upstream = await connectHttp(definition, { name: "remote", ...options });
  return { ...upstream, [Symbol.asyncDispose]: () => upstream.close() };
}

/** The text of a result. */
export function readText(result: ToolResult): string {
  return result.content.map((block) => String(block["text"])).join("");
}
