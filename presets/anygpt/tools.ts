import {
  createDisabledError,
  type Gateway,
  handMeta,
  isJsonObject,
  type MetaTool,
  type Tool,
  type ToolResult,
} from "../../core/mod.ts";
import {
  findServerError,
  findTool,
  hasServer,
  listPendingServers,
  listServerTools,
  serverNotFound,
} from "../../plugins/lib/servers.ts";
import { shorten } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";
import {
  ensureListed,
  getExpiry,
  getSearch,
  refreshOlder,
  toJsonResult,
  waitForFirstListing,
} from "../shared/meta-tools.ts";
import { getAnswersSettings, hasStringArguments } from "./answers.ts";
import { createEngine, toSearchResult } from "./engine.ts";
import { createToolNotFoundError, runTarget } from "./execute.ts";
import { fitRows, packSearchResults, packTools } from "./pack.ts";

const readOnly = { readOnlyHint: true, openWorldHint: false };
const string = { type: "string" };
const boolean = { type: "boolean" };

/** Key in `_meta` of a note on arguments that were sent in the wrong form. */
const ARGUMENTS_NOTE = "toolpipe/arguments";

function answer(gateway: Gateway, value: object): ToolResult {
  const result = toJsonResult(value);
  return getAnswersSettings(gateway).structured ? { ...result, structuredContent: value } : result;
}

const listMcpServers: MetaTool = {
  name: "list_mcp_servers",
  description: "List all MCP servers",
  inputSchema: { type: "object", properties: {} },
  annotations: readOnly,
  async run(_args, { gateway }) {
    const rows = await createEngine(gateway).listServers();
    const { rows: fitted, more } = fitRows(getAnswersSettings(gateway).listTokens, rows, "description");
    const next = "search_tools finds the tools of the others";
    return answer(gateway, {
      servers: fitted,
      ...(more > 0 && { more, next }),
      ...describeNotices(gateway),
    });
  },
};

const searchTools: MetaTool = {
  name: "search_tools",
  description: "Search tools of all MCP servers by free text",
  inputSchema: {
    type: "object",
    properties: {
      query: string,
      server: { type: "string", description: "Only this server" },
      limit: { type: "integer", minimum: 0, description: "Max results (default 10)" },
    },
    required: ["query"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const [query, server] = [String(args["query"]), args["server"]];
    // The specification takes 0 as the default.
    const limit = args["limit"] || undefined;
    if (typeof server === "string") checkServer(gateway, server);
    await waitForFirstListing(gateway, getAnswersSettings(gateway).waitMs);
    const {
      hits,
      nearest,
      disabled = 0,
    } = await getSearch(gateway)(query, {
      ...(typeof server === "string" && { server }),
      ...(typeof limit === "number" && { limit }),
      countDisabled: true,
    });
    const results = hits.map(toSearchResult);
    const pending = listPendingServers(gateway).slice(0, 5);
    const notices = describeNotices(gateway);
    const note = {
      ...(nearest.length > 0 && { nearest: nearest.map(({ id }) => shorten(id, 80)) }),
      ...(disabled > 0 && { disabled }),
      ...(pending.length > 0 && { notSearched: pending }),
    };
    if (limit !== undefined) return answer(gateway, { results, ...note, ...notices });
    const spent = Object.keys(note).length > 0 ? estimateTokens(JSON.stringify(note)) : 0;
    return answer(gateway, {
      ...packSearchResults(results, getAnswersSettings(gateway).searchTokens - spent),
      ...note,
      ...notices,
    });
  },
};

const listTools: MetaTool = {
  name: "list_tools",
  description: "List the tools of one MCP server",
  inputSchema: {
    type: "object",
    properties: { server: string, includeDisabled: boolean },
    required: ["server"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const server = String(args["server"]);
    checkServer(gateway, server);
    await ensureListed(gateway, server);
    await refreshOlder(gateway, server, getExpiry(gateway), getAnswersSettings(gateway).waitMs);
    const trouble = findServerError(gateway, server);
    if (trouble) throw trouble;
    const all = listServerTools(gateway, server);
    const { rows, more } = packTools(
      all,
      args["includeDisabled"] === true,
      getAnswersSettings(gateway).listTokens,
    );
    const next = `search_tools with server "${server}" finds the others`;
    // Without the number, an agent would take a server whose tools are all disabled for one without tools.
    const note = rows.length === 0 && all.length > 0 ? { disabled: all.length } : {};
    return answer(gateway, { server, tools: rows, ...note, ...(more > 0 && { more, next }) });
  },
};

const getToolDetails: MetaTool = {
  name: "get_tool_details",
  description: "Describe a tool and its parameters",
  inputSchema: {
    type: "object",
    properties: {
      server: string,
      tool: string,
      full: { type: "boolean", description: "Do not shorten" },
      examples: boolean,
    },
    required: ["server", "tool"],
  },
  annotations: readOnly,
  async run(args, { gateway }) {
    const [server, name] = [String(args["server"]), String(args["tool"])];
    await createEngine(gateway).getToolDetails(server, name);
    const tool = findTool(gateway, server, name) ?? findReader(gateway, server, name);
    if (!tool) throw await createToolNotFoundError(gateway, server, name);
    // The description is no use for a tool that cannot be called, and may be the reason why it is disabled.
    if (!tool.enabled) throw createDisabledError(tool);
    const { createExamples, fitsExamples, toToolDetails } = await import("./details.ts");
    const { details, detailTokens } = getAnswersSettings(gateway);
    const tokens = args["full"] === true ? undefined : detailTokens;
    const described = toToolDetails(tool, details, tokens);
    if (args["examples"] === false) return answer(gateway, described);
    const examples = await createExamples(tool);
    const isWanted =
      args["examples"] === true || (examples.length > 0 && fitsExamples(described, examples, tokens));
    return answer(gateway, isWanted ? { ...described, examples } : described);
  },
};

const executeTool: MetaTool = {
  name: "execute_tool",
  description: "Execute a tool of any MCP server",
  inputSchema: {
    type: "object",
    properties: { server: string, tool: string, arguments: { type: "object" } },
    required: ["server", "tool", "arguments"],
  },
  annotations: { destructiveHint: true, openWorldHint: true },
  async run({ server, tool, arguments: args }, { gateway, call }) {
    const target = { server: String(server), tool: String(tool), args };
    const { envelope, structured } = getAnswersSettings(gateway);
    const answered = await runTarget(gateway, target, { parent: call, ...handMeta(call) });
    const result = envelope
      ? (await import("./envelope.ts")).wrapAnswer(answered, target.server, target.tool, { structured })
      : answered;
    if (!hasStringArguments(call)) return result;
    const meta = isJsonObject(result._meta) ? result._meta : {};
    return { ...result, _meta: { ...meta, [ARGUMENTS_NOTE]: "Sent as a JSON string; send an object." } };
  },
};

/** Finds the tool to read on a cut result with. It is in no list, but its details can be asked for. */
function findReader({ services }: Gateway, server: string, name: string): Tool | undefined {
  const tool = services.results?.tool;
  return tool?.id === `${server}:${name}` ? tool : undefined;
}

/** Describes what agents must know about the gateway, such as that another config serves than they may expect. */
function describeNotices({ services }: Gateway): { readonly note?: string } {
  const notices = services.notices?.() ?? [];
  return notices.length > 0 ? { note: notices.join(" ") } : {};
}

function checkServer(gateway: Gateway, server: string): void {
  if (!hasServer(gateway, server)) throw serverNotFound(gateway, server);
}

/** The five tools of the AnyGPT specification. */
export const metaTools: readonly MetaTool[] = [
  listMcpServers,
  searchTools,
  listTools,
  getToolDetails,
  executeTool,
];
