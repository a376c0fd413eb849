import { type Gateway, GatewayError, type JsonObject, type MetaTool, type Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { findServerError } from "../../plugins/lib/servers.ts";
import { ensureListed, toJsonResult, waitForFirstListing } from "../shared/meta-tools.ts";
import {
  type AdapterInfo,
  findAdapter,
  getCapabilities,
  getCommonOperations,
  hasCapability,
  hasCountry,
  listAdapters,
  listAdapterTools,
  listCategories,
} from "./adapter-info.ts";
import { getCategory, getOperationIds, summarizeOperation } from "./operations.ts";
import { getDiscovery, getSettings, spellToolNames } from "./options.ts";
import { listParameterNames } from "./ready.ts";

/** Number of adapters up to which each is listed with all its fields. */
const MAX_WHOLE = 5;
const annotations = { readOnlyHint: true, openWorldHint: false };

/** Meta-tool that lists the adapters. */
export const adaptersTool: MetaTool = {
  name: "gateway.adapters",
  description: "List available service adapters and their capabilities.",
  inputSchema: {
    type: "object",
    properties: {
      // Listed as an enum of the categories that there are, and checked against it in any case.
      category: { type: "string" },
      capability: { type: "string" },
      country: { type: "string" },
      id: { type: "string", description: "Adapter ID, for all fields of one adapter" },
    },
    required: [],
  },
  annotations,
  async run({ category, capability, country, id }, { gateway }) {
    await waitForFirstListing(gateway, getSettings(gateway).waitMs);
    const filters = {
      ...(typeof category === "string" && category !== "all" && { category }),
      ...(typeof capability === "string" && { capability }),
      ...(typeof country === "string" && { country }),
    };
    checkCategory(gateway, filters.category);
    const all = listAdapters(gateway);
    const named = typeof id === "string" ? [findAdapter(gateway, id)] : all;
    const found = named.filter((adapter) => matchesFilters(gateway, adapter, filters));
    const toRow = found.length <= MAX_WHOLE ? toAdapterRow : toShortRow;
    // Held tools are listed nowhere else, and an agent may look for them.
    const pending = (await gateway.services.approvals?.pending("tool")) ?? [];
    const categories = [...new Set(all.map((adapter) => adapter.category))].sort().join(", ");
    const next =
      found.length === 0
        ? `No adapter fits; leave a filter out. The categories are ${categories}`
        : `Use gateway.intent with your task, or gateway.tools to explore an adapter${found.length > MAX_WHOLE ? "; with id, gateway.adapters gives all fields of one" : ""}`;
    return toJsonResult({
      total: all.length,
      returned: found.length,
      filters_applied: { ...filters, ...(typeof id === "string" && { id }) },
      adapters: found.map((adapter) => {
        const held = pending.filter(({ id }) => id.split(":", 1)[0] === adapter.server);
        return toRow(gateway, adapter, held.length);
      }),
      next_step:
        all.length === 0
          ? "No adapter is configured; ask the user to add one"
          : spellToolNames(gateway, next),
    });
  },
};

/** Throws if there is no such category. */
function checkCategory(gateway: Gateway, category: string | undefined): void {
  const known = listCategories(gateway);
  const wanted = category?.trim().toLowerCase();
  if (wanted === undefined || known.some((each) => each.toLowerCase() === wanted)) return;
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `There is no category "${category?.slice(0, 80)}". The categories are ${known.join(", ")}.`,
  );
}

interface Filters {
  readonly category?: string;
  readonly capability?: string;
  readonly country?: string;
}

function matchesFilters(
  gateway: Gateway,
  adapter: AdapterInfo,
  { category, capability, country }: Filters,
): boolean {
  return (
    (category === undefined || adapter.category.toLowerCase() === category.trim().toLowerCase()) &&
    (capability === undefined ||
      hasCapability({ capabilities: getCapabilities(gateway, adapter) }, capability)) &&
    // An adapter without a list of countries is not restricted to any.
    (country === undefined || adapter.countries.length === 0 || hasCountry(adapter, country))
  );
}

/** A row of a long list: more would fill the context of an agent that only looks around. */
function toShortRow(gateway: Gateway, adapter: AdapterInfo, held: number): JsonObject {
  return {
    id: adapter.id,
    name: adapter.name,
    category: adapter.category,
    tool_count: listAdapterTools(gateway, adapter).length,
    status: adapter.status,
    ...(adapter.reason !== undefined && { status_reason: adapter.reason }),
    ...(held > 0 && { awaiting_approval: held }),
  };
}

function toAdapterRow(gateway: Gateway, adapter: AdapterInfo, held: number): JsonObject {
  const tools = listAdapterTools(gateway, adapter);
  const categories: Record<string, number> = {};
  for (const category of tools.map(getCategory)) categories[category] = (categories[category] ?? 0) + 1;
  return {
    id: adapter.id,
    name: adapter.name,
    description: adapter.description,
    category: adapter.category,
    capabilities: getCapabilities(gateway, adapter),
    supported_countries: adapter.countries,
    supported_currencies: adapter.currencies,
    tool_count: tools.length,
    tool_categories: categories,
    auth_type: adapter.authType,
    status: adapter.status,
    ...(adapter.reason !== undefined && { status_reason: adapter.reason }),
    ...(held > 0 && { awaiting_approval: held }),
    common_operations: getCommonOperations(gateway, adapter),
  };
}

/** Meta-tool that lists the operations of one adapter. */
export const toolsTool: MetaTool = {
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
  annotations,
  async run({ adapter: given, category, search, limit = 20, offset = 0 }, { gateway }) {
    const adapter = findAdapter(gateway, String(given));
    await ensureListed(gateway, adapter.server);
    const error = findServerError(gateway, adapter.server);
    if (error) throw error;
    const all = listAdapterTools(gateway, adapter);
    const wanted = typeof category === "string" ? category.trim().toLowerCase() : undefined;
    const query = typeof search === "string" ? search.trim() : "";
    const ranked = query === "" ? all : await rankTools(gateway, adapter, all.length, query);
    const found = ranked.filter((tool) => wanted === undefined || getCategory(tool) === wanted);
    const start = Number(offset);
    const page = found.slice(start, start + Number(limit));
    const isNarrowed = wanted !== undefined || query !== "";
    const more = found.length - start - page.length;
    const next =
      isNarrowed && found.length === 0
        ? "No tool fits; leave category or search out, or use gateway.intent with your task"
        : `Use gateway.intent with a tool_id for full schema${more > 0 ? `; ${more} more from offset ${start + page.length}` : ""}`;
    return toJsonResult({
      adapter: adapter.id,
      total_tools: all.length,
      ...(isNarrowed && { matched: found.length }),
      returned: page.length,
      offset: start,
      categories: [...new Set(all.map(getCategory))],
      tools: page.map((tool) => toToolRow(gateway, tool)),
      next_step: spellToolNames(gateway, next),
    });
  },
};

async function rankTools(
  gateway: Gateway,
  { server }: AdapterInfo,
  limit: number,
  query: string,
): Promise<readonly Tool[]> {
  const ranking = await getDiscovery(gateway)?.search(query, { server, limit });
  return (ranking?.hits ?? []).map(({ tool }) => tool);
}

function toToolRow(gateway: Gateway, tool: Tool): JsonObject {
  const { required, optional } = listParameterNames(tool);
  return {
    tool_id: getOperationIds(gateway).getId(tool),
    name: tool.title ?? tool.name,
    description: summarizeOperation(tool),
    category: getCategory(tool),
    method: tool.operation?.method ?? "MCP",
    risk_level: getPolicy(tool).riskLevel,
    required_params: required,
    optional_param_count: optional.length,
  };
}
