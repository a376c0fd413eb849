import { GatewayError, type ToolResult } from "../../../core/mod.ts";
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

/** The error that something fails with, which must be one of ours. */
export async function failure(work: Promise<unknown>): Promise<GatewayError> {
  const thrown = await work.then(
    () => new Error("It did not fail."),
    (reason: unknown) => reason,
  );
  if (GatewayError.is(thrown)) return thrown;
  throw thrown;
}

/** Everything that an error says, to anyone and to the log. */
export function splitWords(error: unknown): string {
  const words: string[] = [];
  let next = error;
  while (next instanceof Error) {
    words.push(next.message, JSON.stringify(next), String(next.stack));
    next = next.cause;
  }
  return words.join("\n");
}

/** The text of a result. */
export function readText(result: ToolResult): string {
  return result.content.map((block) => String(block["text"])).join("");
}

/** Waits until something holds; the test fails where it does not in time. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 5_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`It did not come to hold within ${withinMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
