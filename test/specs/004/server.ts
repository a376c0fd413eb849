import type { IncomingMessage } from "node:http";
import type { JsonObject } from "../../../core/mod.ts";
import { type Listening, listen, readBody } from "../../fixtures/http-servers.ts";
import type { ToldTool } from "../shared.ts";

const inputSchema: JsonObject = {
  type: "object",
  properties: {
    owner: { type: "string" },
    repo: { type: "string" },
    state: { type: "string", enum: ["open", "closed", "all"] },
  },
  required: ["owner", "repo"],
};

/** The tools of the specification's server. None of them has an output schema. */
export const githubTools: readonly ToldTool[] = [
  { name: "list_issues", description: "List issues in a GitHub repository", inputSchema },
  { name: "create_issue", description: "Create an issue in a GitHub repository", inputSchema },
  { name: "search_code", description: "Search code in GitHub repositories", inputSchema },
];

/** What the specification's tool answers with, as text. */
export const issues = [{ id: 1, title: "Bug", state: "open" }];

/** A request that a server was sent. */
export interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  readonly headers: IncomingMessage["headers"];
  readonly at: number;
}

/** Looks at a request before it is answered: a status, perhaps with headers, is the answer. */
export type Gate = (
  asked: Asked,
  request: IncomingMessage,
) => undefined | number | readonly [number, Record<string, string>] | "reset" | "never" | Promise<undefined>;

/** How a server over HTTP behaves. */
export interface ServerPlan {
  readonly tools?: readonly ToldTool[];
  readonly answers?: Readonly<Record<string, JsonObject>>;
  readonly resources?: readonly JsonObject[];
  readonly gate?: Gate;
}

/** A server over HTTP that keeps sessions, and records its requests. */
export interface ToolServer extends Listening {
  readonly asked: Asked[];
  /** The sessions that are open. */
  readonly live: ReadonlySet<string>;
  /** Counts the requests of a method. */
  count(method: string): number;
}

/** Starts a server over HTTP, which ends with the file. */
export async function startServer({
  tools = githubTools,
  answers = { list_issues: { content: [{ type: "text", text: JSON.stringify(issues) }] } },
  resources = [],
  gate = () => undefined,
}: ServerPlan = {}): Promise<ToolServer> {
  const asked: Asked[] = [];
  const live = new Set<string>();
  const results: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
    "tools/list": () => ({
      tools: tools.map((tool) => ({ inputSchema: { type: "object" }, ...tool })),
    }),
    "tools/call": ({ name }) => answers[String(name)] ?? { content: [{ type: "text", text: "done" }] },
    "resources/list": () => ({ resources }),
    "resources/templates/list": () => ({ resourceTemplates: [] }),
  };
  let sessions = 0;
  const listening = await listen(async (request, response) => {
    const text = request.method === "POST" ? await readBody(request) : "";
    const message = JSON.parse(text || "{}") as { id?: number; method?: string; params?: JsonObject };
    const { id, method = String(request.method), params = {} } = message;
    const one = { method, params, headers: request.headers, at: performance.now() };
    asked.push(one);
    const verdict = await gate(one, request);
    if (verdict === "never") return;
    if (verdict === "reset") return void request.socket.resetAndDestroy();
    if (verdict !== undefined) {
      const [status, headers] = typeof verdict === "number" ? [verdict, {}] : verdict;
      return void response.writeHead(status, headers).end();
    }
    const session = String(request.headers["mcp-session-id"]);
    if (method === "DELETE") live.delete(session);
    if (method === "DELETE" || method === "GET")
      return void response.writeHead(method === "GET" ? 405 : 200).end();
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (body: object, headers: Record<string, string> = {}): void => {
      response.writeHead(200, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    };
    if (method === "initialize") {
      const opened = `session-${++sessions}`;
      live.add(opened);
      const capabilities = { tools: {}, ...(resources.length > 0 && { resources: {} }) };
      const serverInfo = { name: "rows", version: "1.0.0" };
      const result = { protocolVersion: "2025-06-18", capabilities, serverInfo };
      return answer({ result }, { "mcp-session-id": opened });
    }
    const result = live.has(session) ? results[method]?.(params) : undefined;
    answer(result ? { result } : { error: { code: -32601, message: "Method not found" } });
  });
  const count = (method: string): number => asked.filter((one) => one.method === method).length;
  return { ...listening, asked, live, count };
}
