import { randomUUID } from "node:crypto";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { addedPrompt, type FixturePrompt, prompts } from "./_everything-prompts.ts";
import { askingTools, stateCodec } from "./_everything-questions.ts";
import { readResource, resources, resourceTemplates } from "./_everything-resources.ts";
import { addedTool, type FixtureTool, plainTools } from "./_everything-tools.ts";

/** A server that offers all that the conformance suite asks of one. */
export interface EverythingServer {
  readonly url: string;
  close(): Promise<void>;
}

/** How the fixture is started. */
export interface EverythingOptions {
  /** The protocols it supports; both by default. */
  readonly protocols?: "both" | "legacy" | undefined;
  /** Any free one by default. */
  readonly port?: number | undefined;
}

/** Starts the fixture on 127.0.0.1. Legacy clients get a session each. */
export async function everythingServer({
  protocols = "both",
  port = 0,
}: EverythingOptions = {}): Promise<EverythingServer> {
  const sessions = new Map<string, { server: Server; transport: WebStandardStreamableHTTPServerTransport }>();
  const added = { tools: false, prompts: false };
  const modern = createMcpHandler(() => newServer(), { legacy: "reject" });

  const handle = toNodeHandler({
    fetch: async (request) =>
      protocols === "legacy" || (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request),
  });
  const allowed = [localhostHostValidation(), localhostOriginValidation()];
  const http = createServer((request, response) => {
    if (allowed.every((check) => check(request, response)))
      void handle(request as Parameters<typeof handle>[0], response);
  });
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    async close() {
      await modern.close();
      for (const { server } of sessions.values()) await server.close();
      await ended(http);
    },
  };

  async function legacy(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (known) return known.transport.handleRequest(request);
    if (id !== null) return new Response("There is no such session.", { status: 404 });
    const server = newServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (created) => void sessions.set(created, { server, transport }),
      onsessionclosed: (closed) => void sessions.delete(closed),
    });
    await server.connect(transport);
    return transport.handleRequest(request);
  }

  function newServer(): Server {
    const server = new Server(
      { name: "everything", version: "1.0.0" },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true },
          completions: {},
          logging: {},
        },
        requestState: { verify: stateCodec.verify },
      },
    );
    server.setRequestHandler("tools/list", () => ({
      tools: currentTools().map(({ definition }) => definition),
    }));
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const tool = currentTools().find(({ definition }) => definition.name === params.name);
      if (!tool)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${params.name}".`);
      const envelope = (context.mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;
      const capabilities =
        envelope["io.modelcontextprotocol/clientCapabilities"] ?? server.getClientCapabilities() ?? {};
      return tool.run({
        context,
        args: params.arguments ?? {},
        capabilities: capabilities as Readonly<Record<string, unknown>>,
        change,
      });
    });
    server.setRequestHandler("prompts/list", () => ({
      prompts: currentPrompts().map(({ definition }) => definition),
    }));
    server.setRequestHandler("prompts/get", ({ params }, context) => {
      const prompt = currentPrompts().find(({ definition }) => definition.name === params.name);
      if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such prompt.");
      return prompt.get(params.arguments ?? {}, context);
    });
    server.setRequestHandler("resources/list", () => ({ resources }));
    server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates }));
    server.setRequestHandler("resources/read", ({ params }) => readResource(params.uri));
    server.setRequestHandler("resources/subscribe", () => ({}));
    server.setRequestHandler("resources/unsubscribe", () => ({}));
    server.setRequestHandler("completion/complete", ({ params }) => {
      const values = ["paris", "park", "party"].filter((value) => value.startsWith(params.argument.value));
      return { completion: { values, total: values.length, hasMore: false } };
    });
    return server;
  }

  function currentTools(): readonly FixtureTool[] {
    return [...plainTools, ...askingTools, ...(added.tools ? [addedTool] : [])];
  }

  function currentPrompts(): readonly FixturePrompt[] {
    return [...prompts, ...(added.prompts ? [addedPrompt] : [])];
  }

  async function change(what: "tools" | "prompts"): Promise<void> {
    added[what] = !added[what];
    if (what === "tools") modern.notify.toolsChanged();
    else modern.notify.promptsChanged();
    for (const { server } of sessions.values()) {
      await (what === "tools" ? server.sendToolListChanged() : server.sendPromptListChanged()).catch(
        () => {},
      );
    }
  }
}

function ended(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1]) {
  const { url } = await everythingServer({ port: Number(process.argv[2] ?? 0) });
  process.stdout.write(`${url}\n`);
}
