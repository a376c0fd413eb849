import {
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type MetaTool,
  type Tool,
} from "../../core/mod.ts";
import { listPendingServers } from "../../plugins/lib/servers.ts";
import { toJsonResult, waitForFirstListing } from "../shared/meta-tools.ts";
import { type AdapterInfo, findAdapter, getAdapter } from "./adapter-info.ts";
import { parseTerms } from "./intent-ranker.ts";
import { fillParams, type Literal, splitLiterals } from "./literals.ts";
import { findOperation, getOperationIds, summarizeOperation } from "./operations.ts";
import { getDiscovery, getSettings, spellToolNames } from "./options.ts";
import { describeExecution, describeNextStep, listMissingInputs } from "./ready.ts";
import { INTENT_DISABLED, listRegistryFaults } from "./registry-plugin.ts";
import { type IntentContext, type WeighedHit, weighHit } from "./weigh.ts";

/** Number of hits that are weighed by the context. */
const CANDIDATES = 50;
const MAX_LIMIT = 50;

/** Meta-tool that turns a task into an operation that is ready to execute, or into a choice. */
export const intentTool: MetaTool = {
  name: "gateway.intent",
  description: "Find the right tool for your task. Describe what you want to do in natural language.",
  inputSchema: {
    type: "object",
    properties: {
      query: {
        type: "string",
        description: "What you want to accomplish (e.g., 'charge a card in Nigeria')",
      },
      adapter: {
        type: "string",
        description: "Optional: Limit search to specific adapter (e.g., 'paystack')",
      },
      context: {
        type: "object",
        description: "Optional: Additional context to improve matching",
        properties: {
          currency: { type: "string" },
          country: { type: "string" },
          use_case: { type: "string", enum: ["one-time", "subscription", "marketplace"] },
        },
      },
      limit: { type: "integer", minimum: 1, default: 3, description: "Max number of alternatives to return" },
    },
    required: ["query"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run(args, { gateway }) {
    checkRegistry(gateway);
    const query = String(args["query"]).trim();
    const context: IntentContext = isJsonObject(args["context"]) ? args["context"] : {};
    const { defaultLimit, waitMs } = getSettings(gateway);
    const limit = Math.min(Number(args["limit"] ?? defaultLimit), MAX_LIMIT);
    await waitForFirstListing(gateway, waitMs);
    const adapter = args["adapter"] === undefined ? undefined : findAdapter(gateway, String(args["adapter"]));
    const tool = /^\S+:\S+$/.test(query) ? await findOperation(gateway, query) : undefined;
    if (tool?.enabled && !tool.builtin && (!adapter || tool.server === adapter.server)) {
      return toJsonResult(await describeOperation(gateway, tool, context));
    }
    const { words, literals } = splitLiterals(query, getDiscovery(gateway)?.isWord);
    // A request of nothing but values is searched for as it is.
    const task = words === "" ? query : words;
    return toJsonResult(await findByIntent(gateway, { query: task, literals, context, limit, adapter }));
  },
};

interface Intent {
  /** The task in words, without values. */
  readonly query: string;
  readonly literals: readonly Literal[];
  readonly context: IntentContext;
  readonly limit: number;
  readonly adapter: AdapterInfo | undefined;
}

function checkRegistry(gateway: Gateway): void {
  const faults = listRegistryFaults(gateway);
  if (faults.length === 0) return;
  const message = `gateway.intent is switched off: ${faults[0]} Use gateway.tools and gateway.execute.`;
  throw new GatewayError(INTENT_DISABLED, spellToolNames(gateway, message), {
    data: { problems: faults.length },
  });
}

/** Describes the operation whose id is the query, without a search. */
async function describeOperation(gateway: Gateway, tool: Tool, context: IntentContext): Promise<JsonObject> {
  const adapter = getAdapter(gateway, tool.server);
  const id = getOperationIds(gateway).getId(tool);
  const hit = { tool, relevance: 1, why: { scores: { named: 1 }, terms: [] } };
  return {
    ...(await recommend(
      gateway,
      weighHit(hit, id, adapter, context),
      { query: "", context, literals: [] },
      true,
    )),
    alternatives: [],
    search_context: {
      mode: "adapter-specific",
      matched_adapters: [adapter.id],
      query_interpreted: `tool_id ${id}`,
    },
  };
}

async function findByIntent(gateway: Gateway, intent: Intent): Promise<JsonObject> {
  const { query, context, limit, adapter } = intent;
  const { currency, country, use_case } = context;
  const hits = await findHits(gateway, intent);
  const pending = listPendingServers(gateway).slice(0, 5);
  const best = hits.slice(0, limit + 1);
  const words = [...parseTerms(query).values(), currency, country, use_case];
  const search_context = {
    mode: adapter ? "adapter-specific" : "global",
    matched_adapters: [...new Set(best.map((hit) => hit.adapter.id))],
    query_interpreted: words.filter((word) => word !== undefined).join(", "),
    // Tells an empty answer from one that came before a server was listed.
    ...(pending.length > 0 && { not_searched: pending }),
  };
  const [first, second] = hits;
  const isTie = second !== undefined && second.confidence === first?.confidence;
  if (!first || first.confidence < getSettings(gateway).minConfidence || isTie) {
    return { ...askForSelection(gateway, hits.slice(0, Math.min(Math.max(limit, 2), 3))), search_context };
  }
  return {
    ...(await recommend(gateway, first, intent, false)),
    alternatives: best.slice(1).map(toOption),
    search_context,
  };
}

async function findHits(gateway: Gateway, { query, context, adapter }: Intent): Promise<WeighedHit[]> {
  const discovery = getDiscovery(gateway);
  if (!discovery) {
    throw new GatewayError(
      "PLUGIN_INVALID",
      'This preset needs the plugin "discovery", which is missing. Add it to "plugins".',
    );
  }
  const { hits } = await discovery.search(query, {
    server: adapter?.server,
    limit: CANDIDATES,
    explain: true,
  });
  const ids = getOperationIds(gateway);
  const servers = new Set(hits.map(({ tool }) => tool.server));
  const adapters = new Map([...servers].map((server) => [server, getAdapter(gateway, server)]));
  // The sort is stable: hits of equal confidence keep the order of the ranking.
  return hits
    .map((hit) => weighHit(hit, ids.getId(hit.tool), adapters.get(hit.tool.server) as AdapterInfo, context))
    .sort((a, b) => b.confidence - a.confidence);
}

async function recommend(
  gateway: Gateway,
  best: WeighedHit,
  { query, context, literals }: Pick<Intent, "query" | "context" | "literals">,
  isWhole: boolean,
): Promise<JsonObject> {
  const { tool } = best.hit;
  const filled = fillParams(tool, { words: query, literals }, { ...context });
  return {
    recommended: toOption(best),
    ready_to_execute: {
      ...(await describeExecution(gateway, tool, best.id, isWhole)),
      ...(Object.keys(filled.params).length > 0 && { params: filled.params }),
    },
    missing_inputs: listMissingInputs(tool, filled),
    next_step: describeNextStep(gateway, tool),
  };
}

/** Asks the agent to choose, where no operation is certain enough or two are equally certain. */
function askForSelection(gateway: Gateway, hits: readonly WeighedHit[]): JsonObject {
  const ids = hits.map(({ id }) => id);
  return {
    needs_selection: true,
    missing_inputs:
      ids.length > 0
        ? [{ field: "tool_id", question: `Which of these do you mean: ${ids.join(", ")}?` }]
        : [{ field: "query", question: "What do you want to do, in other words?" }],
    next_step: spellToolNames(
      gateway,
      ids.length > 0
        ? "Choose one of the alternatives and call gateway.intent with its tool_id, or describe the task in other words"
        : "No tool fits; describe the task in other words, or use gateway.adapters to see what there is",
    ),
    alternatives: hits.map(toOption),
  };
}

function toOption({ hit: { tool }, id, adapter, confidence, why }: WeighedHit): JsonObject {
  return {
    adapter: adapter.id,
    tool: id.slice(id.indexOf(":") + 1),
    tool_id: id,
    confidence,
    why,
    description: summarizeOperation(tool),
  };
}
