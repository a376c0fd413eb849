import {
  type Gateway,
  isJsonObject,
  type MetaTool,
  type Tool,
  type ToolResult,
  toolDisabled,
} from "../../core/mod.ts";
import { findTool, hasServer, noServer, troubleOf } from "../../plugins/lib/servers.ts";
import { fittedTo, shorten } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";
import { jsonResult, searchOf } from "../_answers.ts";
import { answersOf } from "./answers.ts";
import { detailsOf, toolExamples } from "./details.ts";
import { engineOf } from "./engine.ts";
import { runTarget } from "./execute.ts";
import { noTool } from "./not-found.ts";
import type { AnswersOptions } from "./options.ts";
import { packed } from "./pack.ts";
import { pendingServers } from "./servers.ts";

const readOnly = { readOnlyHint: true, openWorldHint: false };
const text = { type: "string" };
const flag = { type: "boolean" };
const oneTool = { server: text, tool: text };

/** The key that says in `_meta` that arguments were understood, but not sent as they should be. */
const NOTE = "toolpipe/arguments";

function optionsOf(gateway: Gateway): Required<AnswersOptions> {
  return answersOf(gateway).options;
}

function answer(gateway: Gateway, value: object): ToolResult {
  const result = jsonResult(value);
  return optionsOf(gateway).structured ? { ...result, structuredContent: value } : result;
}

const listMcpServers: MetaTool = {
  name: "list_mcp_servers",
  description: "List all MCP servers",
  inputSchema: { type: "object", properties: {} },
  annotations: readOnly,
  async run(_args, { gateway }) {
    const all = await engineOf(gateway).listServers();
    const rows = all.map(({ enabledCount, ...row }) =>
      enabledCount === row.toolCount ? row : { ...row, enabledCount },
    );
    const { shown, more } = fittedTo(optionsOf(gateway).listTokens, rows, "description");
    const next = "search_tools finds the tools of the others";
    return answer(gateway, { servers: shown, ...(more > 0 && { more, next }) });
  },
};

const searchTools: MetaTool = {
  name: "search_tools",
  description: "Search tools of all MCP servers by free text",
  inputSchema: {
    type: "object",
    properties: {
      query: text,
      server: { type: "string", description: "Only this server" },
      limit: { type: "integer", minimum: 1, description: "Max results (default 10)" },
    },
    required: ["query"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const [query, server, limit] = [String(args["query"]), args["server"], args["limit"]];
    if (typeof server === "string") checkServer(gateway, server);
    const results = await engineOf(gateway).searchTools(query, {
      ...(typeof server === "string" && { server }),
      ...(typeof limit === "number" && { limit }),
    });
    const pending = pendingServers(gateway).slice(0, 5);
    const note = {
      ...(results.length === 0 && (await nearestOf(gateway, query, server))),
      ...(pending.length > 0 && { notSearched: pending }),
    };
    if (limit !== undefined) return answer(gateway, { results, ...note });
    const spent = Object.keys(note).length > 0 ? estimateTokens(JSON.stringify(note)) : 0;
    return answer(gateway, { ...packed(results, optionsOf(gateway).searchTokens - spent), ...note });
  },
};

const listTools: MetaTool = {
  name: "list_tools",
  description: "List the tools of one MCP server",
  inputSchema: {
    type: "object",
    properties: { server: text, includeDisabled: flag },
    required: ["server"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const server = String(args["server"]);
    checkServer(gateway, server);
    const all = await engineOf(gateway).listTools(server, args["includeDisabled"] === true);
    const trouble = troubleOf(gateway, server);
    if (trouble) throw trouble;
    const rows = all.map(({ name, summary, enabled, tags }) => ({ name, summary, enabled, tags }));
    const { shown, more } = fittedTo(optionsOf(gateway).listTokens, rows, "summary");
    const next = `search_tools with server "${server}" finds the others`;
    return answer(gateway, { server, tools: shown, ...(more > 0 && { more, next }) });
  },
};

const getToolDetails: MetaTool = {
  name: "get_tool_details",
  description: "Describe a tool and its parameters",
  inputSchema: {
    type: "object",
    properties: { ...oneTool, full: { type: "boolean", description: "Do not shorten" }, examples: flag },
    required: ["server", "tool"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const [server, name] = [String(args["server"]), String(args["tool"])];
    await engineOf(gateway).getToolDetails(server, name);
    const tool = findTool(gateway, server, name) ?? readerOf(gateway, server, name);
    if (!tool) throw await noTool(gateway, server, name);
    // What it says of itself is of no use to whoever must not call it, and may be why it is disabled.
    if (!tool.enabled) throw toolDisabled(tool);
    const { details, detailTokens } = optionsOf(gateway);
    const shown = detailsOf(tool, details, args["full"] === true ? undefined : detailTokens);
    const examples = args["examples"] === true ? { examples: await toolExamples(tool) } : {};
    return answer(gateway, { ...shown, ...examples });
  },
};

const executeTool: MetaTool = {
  name: "execute_tool",
  description: "Execute a tool of any MCP server",
  inputSchema: {
    type: "object",
    properties: { ...oneTool, arguments: { type: "object" } },
    required: ["server", "tool", "arguments"],
  },
  annotations: { destructiveHint: true, openWorldHint: true },
  async run({ server, tool, arguments: args }, { gateway, call }) {
    const target = { server: String(server), tool: String(tool), args };
    const result = await runTarget(gateway, target, { parent: call });
    if (!answersOf(gateway).cameAsText(call)) return result;
    const meta = isJsonObject(result._meta) ? result._meta : {};
    return { ...result, _meta: { ...meta, [NOTE]: "Sent as a JSON string; send an object." } };
  },
};

/** Where nothing fits, what came closest: an agent may have meant one of these, or asks in other words. */
async function nearestOf(gateway: Gateway, query: string, server: unknown): Promise<{ nearest?: string[] }> {
  const where = typeof server === "string" ? server : undefined;
  const { nearest } = await searchOf(gateway)(query, { server: where });
  return nearest.length > 0 ? { nearest: nearest.map(({ id }) => shorten(id, 80)) } : {};
}

/** A result that is cut names a tool to read on with. It is in no list, but whoever asks what it takes is told. */
function readerOf({ services }: Gateway, server: string, name: string): Tool | undefined {
  const tool = services.results?.tool;
  return tool?.id === `${server}:${name}` ? tool : undefined;
}

function checkServer(gateway: Gateway, server: string): void {
  if (!hasServer(gateway, server)) throw noServer(gateway, server);
}

/** The five tools of the AnyGPT specification. */
export const metaTools: readonly MetaTool[] = [
  listMcpServers,
  searchTools,
  listTools,
  getToolDetails,
  executeTool,
];
