import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

/** A client over HTTP. */
export interface HttpAsk {
  /** Sends a request of the modern protocol. */
  ask(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
  /** Begins a session of the legacy protocol and sends a request; the caller must end the session. */
  visit(method: string, params: object, leaves: boolean): Promise<unknown>;
  /** Closes idle connections. */
  rest(): void;
}

interface Sending {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly verb?: "POST" | "DELETE";
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A client of a gateway at an address, over connections that it keeps. */
export function httpAsk(url: string): HttpAsk {
  let agent = new Agent({ keepAlive: true });
  return {
    async ask(method, params, signal) {
      const { name } = params as { name?: string };
      const response = await send({
        body: { id: 1, method, params: { ...params, _meta: meta } },
        headers: {
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": method,
          ...(name !== undefined && { "mcp-name": name }),
        },
        signal,
      });
      return parseResult(await text(response));
    },
    async visit(method, params, leaves) {
      const hello = await send({
        body: {
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-11-25",
            capabilities: {},
            clientInfo: { name: "soak", version: "1" },
          },
        },
      });
      parseResult(await text(hello));
      const session = hello.headers["mcp-session-id"];
      const headers = {
        "mcp-protocol-version": "2025-11-25",
        ...(typeof session === "string" && { "mcp-session-id": session }),
      };
      const result = parseResult(await text(await send({ body: { id: 2, method, params }, headers })));
      if (!leaves && session !== undefined) (await send({ headers, verb: "DELETE" })).resume();
      return result;
    },
    rest() {
      agent.destroy();
      agent = new Agent({ keepAlive: true });
    },
  };

  function send({ body, headers = {}, signal, verb = "POST" }: Sending): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method: verb,
          agent,
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            ...headers,
          },
          ...(signal && { signal }),
        },
        resolve,
      );
      sent.on("error", reject);
      sent.end(body && JSON.stringify({ jsonrpc: "2.0", ...body }));
    });
  }
}

/** The result in a reply, which is one message or a stream of events of which the last one is the answer. */
function parseResult(body: string): unknown {
  const data = body.startsWith("{")
    ? body
    : body
        .split("\n")
        .findLast((line) => line.startsWith("data: "))
        ?.slice("data: ".length);
  const { result, error } = JSON.parse(data ?? "{}") as {
    result?: unknown;
    error?: { message: string };
  };
  if (error) throw new Error(error.message);
  return result;
}
