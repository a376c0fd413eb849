import type { Exposure, Gateway, Tool } from "../../core/mod.ts";
import { someOf } from "../../plugins/lib/servers.ts";
import { answersOf } from "./answers.ts";
import { outputSchemas } from "./output-schemas.ts";

/** What the names of servers may take in the description of `search_tools`, and in the instructions. */
const DESCRIPTION_TOKENS = 40;
const INSTRUCTION_TOKENS = 100;

interface Offer {
  readonly tools: number;
  readonly servers: readonly string[];
}

/** The tools to list to an agent: the five, told what there is to search, and those that are pinned, or all. */
export function describeTools(gateway: Gateway, exposure: Exposure = "meta"): readonly Tool[] {
  if (exposure === "tools") return gateway.catalog.tools();
  const { pinned, structured } = answersOf(gateway).options;
  const own = gateway.tools.map((tool) => {
    const output = structured ? outputSchemas[tool.name] : undefined;
    const outputSchema = output && { outputSchema: output };
    if (tool.name !== "search_tools") return { ...tool, ...outputSchema };
    return { ...tool, description: searchDescription(gateway, tool), ...outputSchema };
  });
  if (exposure === "both") return [...own, ...gateway.catalog.tools()];
  return pinned.length === 0 ? own : [...own, ...pinnedTools(gateway, pinned, own)];
}

/** What a server says of itself: what is behind it, and how it is used. The same catalog gives the same text. */
export function instructions(gateway: Gateway, exposure: Exposure = "meta"): string {
  const { tools, servers } = offerOf(gateway);
  if (tools === 0) return "No MCP server has tools yet; list_mcp_servers tells how each of them stands.";
  const offer = `${counted(tools, "tool")} of ${counted(servers.length, "MCP server")} can be used here: ${someOf(servers, INSTRUCTION_TOKENS)}.`;
  if (exposure !== "meta") return `${offer} A server connects when it is used.`;
  return (
    `${offer} They are not listed one by one. Find one with search_tools ` +
    "(say what you want to do), see its parameters with get_tool_details, run it with execute_tool. " +
    "A server connects when it is used."
  );
}

function searchDescription(gateway: Gateway, { description = "" }: Tool): string {
  const { tools, servers } = offerOf(gateway);
  if (tools === 0) return description;
  return `Search ${counted(tools, "tool")} of ${counted(servers.length, "MCP server")} by free text: ${someOf(servers, DESCRIPTION_TOKENS)}`;
}

/** What can be used: servers with the most tools first, since not all of them may be named. */
function offerOf(gateway: Gateway): Offer {
  const counts = gateway.catalog
    .servers()
    .map(({ id }) => ({ id, count: gateway.catalog.tools(id).filter(({ enabled }) => enabled).length }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  return {
    tools: counts.reduce((sum, { count }) => sum + count, 0),
    servers: counts.map(({ id, count }) => `${id} (${count})`),
  };
}

/** Pinned tools under their own names; under the server's too, where another one has that name. */
function pinnedTools(gateway: Gateway, pinned: readonly string[], own: readonly Tool[]): Tool[] {
  const taken = new Set(own.map(({ name }) => name));
  const chosen = pinned.map((id) => gateway.catalog.tool(id));
  return chosen.flatMap((tool) => {
    if (!tool || tool.builtin || !tool.enabled) return [];
    const name = taken.has(tool.name) ? `${tool.server}__${tool.name}` : tool.name;
    if (taken.has(name)) return [];
    taken.add(name);
    return [{ ...tool, name }];
  });
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
