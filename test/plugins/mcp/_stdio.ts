import type { StdioConnection } from "../../../core/services/sources.ts";
import {
  type ConnectStdioOptions,
  connectStdio,
  type StdioUpstream,
} from "../../../plugins/mcp/stdio/connect.ts";

/** Connects, and closes when the block of the caller ends. */
export async function connected(
  connection: StdioConnection,
  options: Partial<ConnectStdioOptions> = {},
): Promise<StdioUpstream & AsyncDisposable> {
  const upstream = await connectStdio(connection, { name: "test", ...options });
  return { ...upstream, [Symbol.asyncDispose]: () => upstream.close() };
}
