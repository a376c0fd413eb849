import type { IncomingMessage } from "node:http";
import type { JsonObject, ToolDefinition } from "../../../core/mod.ts";
import type { ServerHandle } from "../../../core/services/servers.ts";
import type { HttpConnection, Machine, Origin, ServerConfig } from "../../../core/services/sources.ts";
import {
  createDiscoveryService,
  type DiscoveryParts,
  type DiscoveryService,
} from "../../../plugins/discovery/service.ts";
import { createToolCache, type ToolCache } from "../../../plugins/discovery/tool-cache.ts";
import { type Listening, listen, readBody } from "../../fixtures/http-servers.ts";
import { createTestCache, wordRanker } from "../../support/services.ts";

/** A tool of GitHub's server, as the specification has it. */
export const listIssues: ToolDefinition = {
  name: "list_issues",
  description: "List issues in a GitHub repository",
  inputSchema: {
    type: "object",
    properties: { owner: { type: "string" }, repo: { type: "string" } },
    required: ["owner", "repo"],
  },
};

/** Definition of a server with a URL, as in a user's config. */
export function remote(
  name: string,
  url: string,
  more: { readonly connection?: Partial<HttpConnection>; readonly origin?: Partial<Origin> } = {},
): ServerConfig {
  return {
    name,
    connection: { type: "http", url, headers: {}, ...more.connection },
    origin: { source: "inline", scope: "config", ...more.origin },
  };
}

/** A machine with these variables and no others. */
export function createMachine(env: Machine["env"]): () => Machine {
  return () => ({ platform: "linux", home: "/nowhere", env, project: "/nowhere" });
}

/** A cache in memory. */
export function memoryCache(): ToolCache {
  return createToolCache(createTestCache());
}

/** How a server behaves that exists in memory alone. */
export interface FakeServer {
  readonly tools?: readonly ToolDefinition[];
  readonly resources?: readonly JsonObject[];
  onOpen?(): void | Promise<void>;
  onList?(): void | Promise<void>;
  onCall?(name: string, args: JsonObject): JsonObject;
}

/** A service that opens sessions with servers in memory, and never waits. */
export function faked(
  server: FakeServer | ((config: ServerConfig) => FakeServer),
  parts: Partial<DiscoveryParts> = {},
): DiscoveryService & { readonly sessions: { opened: number; closed: number }; readonly waits: number[] } {
  const sessions = { opened: 0, closed: 0 };
  const waits: number[] = [];
  const service = createDiscoveryService({
    emitType: (schema) => `type of ${Object.keys((schema["properties"] ?? {}) as object).join(" ")}`,
    inferTags: (name) => ({ domains: [name], categories: ["crud.read"] }),
    waiting: {
      async sleep(ms) {
        waits.push(ms);
      },
      random: () => 0.5,
    },
    servers: { open },
    createRanker: async () => wordRanker(),
    ...parts,
  });
  return { ...service, sessions, waits };

  async function open(config: ServerConfig): Promise<ServerHandle> {
    const fake = typeof server === "function" ? server(config) : server;
    await fake.onOpen?.();
    sessions.opened++;
    return {
      info: {},
      async list() {
        await fake.onList?.();
        const { tools = [listIssues], resources = [] } = fake;
        return { tools, rejected: [], resources, resourceTemplates: [], prompts: [] };
      },
      async call(name, args) {
        return { content: [], ...fake.onCall?.(name, args) };
      },
      async close() {
        sessions.closed++;
      },
    };
  }
}

/** Looks at a request before it is answered. If it returns a status, that is the answer. */
export type Gate = (
  request: IncomingMessage,
  method: string,
) => number | readonly [number, Record<string, string>] | "reset" | undefined | Promise<undefined>;

/** Server of the legacy protocol with one tool and sessions; each request passes a gate first. */
export async function gatedServer(gate: Gate): Promise<Listening & { readonly live: Set<string> }> {
  const live = new Set<string>();
  let count = 0;
  const listening = await listen(async (request, response) => {
    const text = request.method === "POST" ? await readBody(request) : "";
    const message = (text === "" ? {} : JSON.parse(text)) as { id?: number; method?: string };
    const verdict = await gate(request, message.method ?? String(request.method));
    if (verdict === "reset") return void request.socket.resetAndDestroy();
    if (verdict !== undefined) {
      const [status, headers] = typeof verdict === "number" ? [verdict, {}] : verdict;
      return void response.writeHead(status, headers).end();
    }
    const session = request.headers["mcp-session-id"];
    if (request.method === "DELETE") {
      live.delete(String(session));
      return void response.writeHead(200).end();
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    const answer = (body: object, headers: Record<string, string> = {}): void => {
      response.writeHead(200, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...body }));
    };
    if (message.method === "initialize") {
      const id = `session-${++count}`;
      live.add(id);
      const serverInfo = { name: "gated", version: "1.0.0" };
      const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
      return answer({ result }, { "mcp-session-id": id });
    }
    if (message.method === "tools/list") return answer({ result: { tools: [listIssues] } });
    answer({ error: { code: -32601, message: "Method not found" } });
  });
  return { ...listening, live };
}
