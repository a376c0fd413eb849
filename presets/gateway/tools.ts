import type { Gateway, JsonObject, MetaTool, Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { troubleOf } from "../../plugins/lib/servers.ts";
import { summaryOf } from "../../plugins/lib/text/shorten.ts";
import { jsonResult } from "../_answers.ts";
import { learnOf } from "../anygpt/servers.ts";
import { type AdapterInfo, findAdapter, toolsOf } from "./adapter-info.ts";
import { discoveryOf } from "./discovery.ts";
import { operationIds } from "./operation-ids.ts";
import { say } from "./options-of.ts";
import { categoryOf } from "./policy-of.ts";
import { paramsOf } from "./ready.ts";

/** Lists the operations of one adapter. */
export const tools: MetaTool = {
  name: "gateway.tools",
  description: "List available tools within a specific adapter.",
  inputSchema: {
    type: "object",
    properties: {
      adapter: { type: "string", description: "Adapter ID" },
      category: { type: "string" },
      search: { type: "string" },
      limit: { type: "integer", minimum: 1, maximum: 50, default: 20 },
      offset: { type: "integer", minimum: 0, default: 0 },
    },
    required: ["adapter"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ adapter: given, category, search, limit = 20, offset = 0 }, { gateway }) {
    const adapter = findAdapter(gateway, String(given));
    await learnOf(gateway, adapter.server);
    const trouble = troubleOf(gateway, adapter.server);
    if (trouble) throw trouble;
    const all = toolsOf(gateway, adapter);
    const wanted = typeof category === "string" ? category.trim().toLowerCase() : undefined;
    const text = typeof search === "string" ? search.trim() : "";
    const found = (text === "" ? all : await searched(gateway, adapter, all, text)).filter(
      (tool) => wanted === undefined || categoryOf(tool) === wanted,
    );
    const start = Number(offset);
    const page = found.slice(start, start + Number(limit));
    const isNarrowed = wanted !== undefined || text !== "";
    return jsonResult({
      adapter: adapter.id,
      total_tools: all.length,
      ...(isNarrowed && { matched: found.length }),
      returned: page.length,
      offset: start,
      categories: [...new Set(all.map(categoryOf))],
      tools: page.map((tool) => rowOf(gateway, tool)),
      next_step: nextStep(gateway, { start, shown: page.length, found: found.length, isNarrowed }),
    });
  },
};

/** Those that fit a search, best first. */
async function searched(
  gateway: Gateway,
  { server }: AdapterInfo,
  all: readonly Tool[],
  text: string,
): Promise<readonly Tool[]> {
  const ranking = await discoveryOf(gateway)?.find(text, { server, limit: all.length });
  return (ranking?.hits ?? []).map(({ tool }) => tool);
}

function rowOf(gateway: Gateway, tool: Tool): JsonObject {
  const { required, optional } = paramsOf(tool);
  return {
    tool_id: operationIds(gateway).idOf(tool),
    name: tool.title ?? tool.name,
    description: summaryOf(tool.description),
    category: categoryOf(tool),
    method: tool.operation?.method ?? "MCP",
    risk_level: getPolicy(tool).riskLevel,
    required_params: required,
    optional_param_count: optional.length,
  };
}

function nextStep(
  gateway: Gateway,
  { start, shown, found, isNarrowed }: { start: number; shown: number; found: number; isNarrowed: boolean },
): string {
  const more = found - start - shown;
  if (shown === 0 && isNarrowed && found === 0) {
    return say(gateway, "No tool fits; leave category or search out, or use gateway.intent with your task");
  }
  const full = "Use gateway.intent with a tool_id for full schema";
  return say(gateway, more > 0 ? `${full}; ${more} more from offset ${start + shown}` : full);
}
