import type { Exposure, Gateway, JsonObject, Tool } from "../../core/mod.ts";
import { joinNames } from "../../plugins/lib/servers.ts";
import { getAnswersSettings } from "./answers.ts";

/** Maximal tokens of server names in the description of `search_tools` and in the instructions. */
const DESCRIPTION_TOKENS = 40;
const INSTRUCTION_TOKENS = 100;

const string = { type: "string" };
const integer = { type: "integer" };
const boolean = { type: "boolean" };
const strings = { type: "array", items: string };

/** Output schemas of the meta-tools, for structured answers. `execute_tool` has none: its result is the tool's own. */
const outputSchemas: Readonly<Record<string, JsonObject>> = {
  list_mcp_servers: object({
    servers: list({
      name: string,
      description: string,
      toolCount: integer,
      enabledCount: integer,
      status: string,
      "reason?": string,
    }),
    "more?": integer,
    "next?": string,
    "note?": string,
  }),
  search_tools: object({
    results: list({
      server: string,
      tool: string,
      summary: string,
      relevance: { type: "number" },
      tags: strings,
    }),
    "more?": integer,
    "nearest?": strings,
    "disabled?": integer,
    "notSearched?": strings,
  }),
  list_tools: object({
    server: string,
    tools: list({ name: string, summary: string, enabled: boolean, tags: strings, "reason?": string }),
    "disabled?": integer,
    "more?": integer,
    "next?": string,
  }),
  get_tool_details: object({
    server: string,
    tool: string,
    description: string,
    "parameters?": list({ name: string, type: string, description: string, required: boolean }),
    "signature?": string,
    "inputSchema?": { type: "object" },
    "examples?": list({ description: string, parameters: { type: "object" } }),
  }),
};

/** Creates the schema of an object; the names of optional properties end in a question mark. */
function object(properties: JsonObject): JsonObject {
  const entries = Object.entries(properties);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, schema]) => [name.replace("?", ""), schema])),
    required: entries.flatMap(([name]) => (name.endsWith("?") ? [] : [name])),
  };
}

function list(properties: JsonObject): JsonObject {
  return { type: "array", items: object(properties) };
}

/** Lists the tools for an agent: the five with a summary of the catalog, and pinned tools, or all. */
export function describeAnygptTools(gateway: Gateway, exposure: Exposure = "meta"): readonly Tool[] {
  if (exposure === "tools") return gateway.catalog.tools();
  const { pinned, structured } = getAnswersSettings(gateway);
  const own = gateway.tools.map((tool) => {
    const output = structured ? outputSchemas[tool.name] : undefined;
    const outputSchema = output && { outputSchema: output };
    if (tool.name !== "search_tools") return { ...tool, ...outputSchema };
    return { ...tool, description: describeSearch(gateway, tool), ...outputSchema };
  });
  if (exposure === "both") return [...own, ...gateway.catalog.tools()];
  return pinned.length === 0 ? own : [...own, ...listPinnedTools(gateway, pinned, own)];
}

/** Writes the server instructions: what is behind the gateway, and how it is used. Equal catalogs give equal strings. */
export function writeAnygptInstructions(gateway: Gateway, exposure: Exposure = "meta"): string {
  const { tools, servers } = countTools(gateway);
  if (tools === 0) {
    const all = gateway.catalog.tools().length;
    return all === 0
      ? "No MCP server has tools yet; list_mcp_servers tells how each of them stands."
      : `No tool can be used here: rules disable all ${all} tools. list_mcp_servers lists their MCP servers.`;
  }
  const offer = `${pluralize(tools, "tool")} of ${pluralize(servers.length, "MCP server")} can be used here: ${joinNames(servers, INSTRUCTION_TOKENS)}.`;
  if (exposure !== "meta") return `${offer} A server connects when it is used.`;
  return (
    `${offer} They are not listed one by one. Find one with search_tools ` +
    "(say what you want to do), see its parameters with get_tool_details, run it with execute_tool. " +
    "A server connects when it is used."
  );
}

function describeSearch(gateway: Gateway, { description = "" }: Tool): string {
  const { tools, servers } = countTools(gateway);
  if (tools === 0) return description;
  return `Search ${pluralize(tools, "tool")} of ${pluralize(servers.length, "MCP server")} by free text: ${joinNames(servers, DESCRIPTION_TOKENS)}`;
}

/** Counts enabled tools. Servers with the most tools come first, since not all of them may be named. */
function countTools({ catalog }: Gateway): { readonly tools: number; readonly servers: readonly string[] } {
  const counts = catalog
    .servers()
    .map(({ id }) => ({ id, count: catalog.tools(id).filter(({ enabled }) => enabled).length }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  return {
    tools: counts.reduce((sum, { count }) => sum + count, 0),
    servers: counts.map(({ id, count }) => `${id} (${count})`),
  };
}

/** Lists pinned tools under their own names, prefixed with the server where a name is taken. */
function listPinnedTools({ catalog }: Gateway, pinned: readonly string[], own: readonly Tool[]): Tool[] {
  const taken = new Set(own.map(({ name }) => name));
  return pinned.flatMap((id) => {
    const tool = catalog.tool(id);
    if (!tool || tool.builtin || !tool.enabled) return [];
    const name = taken.has(tool.name) ? `${tool.server}__${tool.name}` : tool.name;
    if (taken.has(name)) return [];
    taken.add(name);
    return [{ ...tool, name }];
  });
}

function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
