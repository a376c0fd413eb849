import { connect } from "node:net";
import { onTestFinished } from "vitest";
import {
  definePreset,
  type JsonObject,
  type LoadedConfig,
  type MetaTool,
  type Preset,
  textResult,
} from "../../../core/mod.ts";
import { type HttpServer, type HttpServerOptions, serveHttp } from "../../../plugins/serve/mod.ts";

/** The metadata of a modern request. */
export const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
} as const;

/** Serves a config until the test is over. */
export async function serveGateway(
  config: Partial<LoadedConfig> = {},
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const server = await serveHttp({ preset: preset([]), ...config }, options);
  onTestFinished(() => server.close({ drainMs: 0 }));
  return server;
}

/** A preset of these tools, with nothing that touches the machine. */
export function preset(tools: readonly MetaTool[]): Preset {
  return definePreset({ name: "test", plugins: [], tools: [now, ...tools] });
}

const now: MetaTool = { name: "now", inputSchema: { type: "object" }, run: () => textResult("done") };

/** A tool that runs until it is cancelled, and what is known of its runs. */
export function waiting(): { readonly tool: MetaTool; started: number; cancelled: number } {
  const seen = {
    started: 0,
    cancelled: 0,
    tool: {
      name: "wait",
      inputSchema: { type: "object" },
      run: (_args, { call }) =>
        new Promise((_resolve, reject) => {
          seen.started++;
          call.report({ progress: 1, total: 2 });
          call.signal.addEventListener("abort", () => {
            seen.cancelled++;
            reject(call.signal.reason);
          });
        }),
    } satisfies MetaTool,
  };
  return seen;
}

/** Options of a request, beside its message. */
export interface Sending {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Sends anything to a server. */
export function send(url: string, body: unknown, { headers = {}, signal }: Sending = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** Asks as a legacy client. */
export function ask(url: string, method: string, params: object = {}, sending?: Sending): Promise<Response> {
  return send(url, { jsonrpc: "2.0", id: 1, method, params }, sending);
}

/** Begins a session of a legacy client, and returns the header that names it. */
export async function beginSession(
  url: string,
  capabilities: object = {},
  sending?: Sending,
): Promise<{ readonly "mcp-session-id": string }> {
  const response = await ask(url, "initialize", { protocolVersion: "2025-11-25", capabilities }, sending);
  await response.body?.cancel();
  return { "mcp-session-id": String(response.headers.get("mcp-session-id")) };
}

/** Asks as a modern client. */
export function askModern(
  url: string,
  method: string,
  params: Record<string, unknown> = {},
  { headers, ...sending }: Sending = {},
): Promise<Response> {
  const _meta = { ...modernMeta, ...(params["_meta"] as object) };
  return send(
    url,
    { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    { ...sending, headers: { ...modernHeaders(method, params["name"]), ...headers } },
  );
}

/** The headers that the modern protocol wants. */
export function modernHeaders(method: string, name?: unknown): Record<string, string> {
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
  };
}

/** The messages of a reply, as they come. */
export async function* streamMessages(response: Response): AsyncGenerator<JsonObject> {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    for (const message of [await response.json()].flat()) yield message as JsonObject;
    return;
  }
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

/** All messages of a reply. */
export async function readMessages(response: Response): Promise<JsonObject[]> {
  const messages: JsonObject[] = [];
  for await (const message of streamMessages(response)) messages.push(message);
  return messages;
}

/** The one message of a reply. */
export async function readAnswer(response: Response | Promise<Response>): Promise<JsonObject> {
  const [answer, ...more] = await readMessages(await response);
  if (!answer || more.length > 0) throw new Error("One message was expected.");
  return answer;
}

/** Sends bytes as they are, and returns everything that came back once the connection is closed. */
export function sendRaw(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(text));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.once("close", () => resolve(received));
    socket.once("error", reject);
    onTestFinished(() => void socket.destroy());
  });
}

/** Waits until something holds; the test fails where it does not in time. */
export async function until(condition: () => boolean, withinMs = 5_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It did not come to hold within ${withinMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
