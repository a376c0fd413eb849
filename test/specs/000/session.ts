import { PassThrough } from "node:stream";
import { type DiscoveryEngine, MCPDiscoveryServer } from "toolpipe/anygpt";
import type { JsonObject } from "../../../core/mod.ts";
import { createAsk } from "../../support/ask-streams.ts";
import { closeLater } from "./world.ts";

/** A client of the five tools of an engine. */
export interface Session {
  request(method: string, params?: object): Promise<JsonObject>;
  /** Calls a tool and returns its result. */
  call(name: string, args?: object): Promise<JsonObject>;
  /** Calls a tool and returns the JSON of its answer. */
  answer(name: string, args?: object): Promise<JsonObject>;
}

/** Serves an engine over streams, and connects a client. Both end with the world. */
export async function openSession(engine: DiscoveryEngine): Promise<Session> {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const server = new MCPDiscoveryServer(engine, streams);
  await server.start();
  closeLater(server, () => server.stop());
  const ask = createAsk(streams);
  const request = async (method: string, params: object = {}) => (await ask(method, params)) as JsonObject;
  await request("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "rows", version: "1" },
  });
  const call = (name: string, args: object = {}) => request("tools/call", { name, arguments: args });
  return {
    request,
    call,
    async answer(name, args) {
      const { content } = (await call(name, args)) as { content: { text: string }[] };
      return JSON.parse(content[0]?.text ?? "") as JsonObject;
    },
  };
}
