import type { Gateway, JsonObject, MetaTool } from "../../core/mod.ts";
import { jsonResult } from "../_answers.ts";
import { firstListing } from "../anygpt/servers.ts";
import { type AdapterInfo, adaptersOf, toolsOf } from "./adapter-info.ts";
import { hasCapability, hasCountry } from "./facts.ts";
import { optionsOf, say } from "./options-of.ts";
import { categoryOf } from "./policy-of.ts";

/** The categories that the specification names. */
export const CATEGORIES: readonly string[] = [
  "payments",
  "infrastructure",
  "analytics",
  "storage",
  "communication",
];

/** Lists the adapters. */
export const adapters: MetaTool = {
  name: "gateway.adapters",
  description: "List available service adapters and their capabilities.",
  inputSchema: {
    type: "object",
    properties: {
      // Which there are is shown; one that nobody has finds nothing.
      category: { type: "string" },
      capability: { type: "string" },
      country: { type: "string" },
    },
    required: [],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ category, capability, country }, { gateway }) {
    await firstListing(gateway, optionsOf(gateway).waitMs);
    const filters = {
      ...(typeof category === "string" && category !== "all" && { category }),
      ...(typeof capability === "string" && { capability }),
      ...(typeof country === "string" && { country }),
    };
    const all = adaptersOf(gateway);
    const found = all.filter((adapter) => fits(adapter, filters));
    // A held tool is listed nowhere else, and an agent may look for it.
    const held = ((await gateway.services.approvals?.pending("tool")) ?? []).map(
      ({ id }) => id.split(":", 1)[0],
    );
    return jsonResult({
      total: all.length,
      returned: found.length,
      filters_applied: filters,
      adapters: found.map((adapter) =>
        rowOf(gateway, adapter, held.filter((server) => server === adapter.server).length),
      ),
      next_step: nextStep(gateway, all, found),
    });
  },
};

interface Filters {
  readonly category?: string;
  readonly capability?: string;
  readonly country?: string;
}

function fits(adapter: AdapterInfo, { category, capability, country }: Filters): boolean {
  return (
    (category === undefined || adapter.category.toLowerCase() === category.trim().toLowerCase()) &&
    (capability === undefined || hasCapability(adapter, capability)) &&
    (country === undefined || hasCountry(adapter, country))
  );
}

function rowOf(gateway: Gateway, adapter: AdapterInfo, held: number): JsonObject {
  const tools = toolsOf(gateway, adapter);
  const categories: Record<string, number> = {};
  for (const tool of tools) categories[categoryOf(tool)] = (categories[categoryOf(tool)] ?? 0) + 1;
  return {
    id: adapter.id,
    name: adapter.name,
    description: adapter.description,
    category: adapter.category,
    capabilities: adapter.capabilities,
    supported_countries: adapter.countries,
    supported_currencies: adapter.currencies,
    tool_count: tools.length,
    tool_categories: categories,
    auth_type: adapter.authType,
    status: adapter.status,
    ...(adapter.reason !== undefined && { status_reason: adapter.reason }),
    ...(held > 0 && { awaiting_approval: held }),
    common_operations: adapter.commonOperations,
  };
}

function nextStep(gateway: Gateway, all: readonly AdapterInfo[], found: readonly AdapterInfo[]): string {
  if (all.length === 0) return "No adapter is configured; ask the user to add one";
  return say(
    gateway,
    found.length === 0
      ? `No adapter fits; leave a filter out. The categories are ${[...new Set(all.map(({ category }) => category))].sort().join(", ")}`
      : "Use gateway.intent with your task, or gateway.tools to explore an adapter",
  );
}
