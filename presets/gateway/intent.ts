import {
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type MetaTool,
  type Tool,
} from "../../core/mod.ts";
import { summaryOf } from "../../plugins/lib/text/shorten.ts";
import type { Hit } from "../../plugins/search/mod.ts";
import { jsonResult } from "../_answers.ts";
import { firstListing, pendingServers } from "../anygpt/servers.ts";
import { type AdapterInfo, adapterInfo, findAdapter } from "./adapter-info.ts";
import { discoveryOf } from "./discovery.ts";
import type { IntentContext } from "./facts.ts";
import { findOperation } from "./find-operation.ts";
import { missingInputs, nextStep } from "./guidance.ts";
import { operationIds } from "./operation-ids.ts";
import { optionsOf, say } from "./options-of.ts";
import { readyToExecute } from "./ready.ts";
import { INTENT_DISABLED } from "./registry-errors.ts";
import { operationRegistryOf } from "./registry-plugin.ts";
import { interpreted, type Weighed, weigh } from "./why.ts";

/** So many of the best are weighed by the context; nobody chooses among more. */
const CANDIDATES = 50;
const MAX_LIMIT = 50;

/** Turns a task into an operation that is ready to be executed, or into a choice. */
export const intent: MetaTool = {
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
    const { defaultLimit, waitMs } = optionsOf(gateway);
    const limit = Math.min(Number(args["limit"] ?? defaultLimit), MAX_LIMIT);
    await firstListing(gateway, waitMs);
    const adapter = args["adapter"] === undefined ? undefined : findAdapter(gateway, String(args["adapter"]));
    const tool = /^\S+:\S+$/.test(query) ? await findOperation(gateway, query) : undefined;
    if (tool?.enabled && !tool.builtin && (!adapter || tool.server === adapter.server)) {
      return jsonResult(await full(gateway, tool, context));
    }
    return jsonResult(await chosen(gateway, { query, context, limit, adapter }));
  },
};

interface Asked {
  readonly query: string;
  readonly context: IntentContext;
  readonly limit: number;
  readonly adapter: AdapterInfo | undefined;
}

/** A query that is an id is not a search: all there is to know of the operation is the answer. */
async function full(gateway: Gateway, tool: Tool, context: IntentContext): Promise<JsonObject> {
  const adapter = adapterInfo(gateway, tool.server);
  const best = weigh(named(tool), operationIds(gateway).idOf(tool), adapter, context);
  return {
    ...(await recommended(gateway, best, context, true)),
    alternatives: [],
    search_context: {
      mode: "adapter-specific",
      matched_adapters: [adapter.id],
      query_interpreted: `tool_id ${operationIds(gateway).idOf(tool)}`,
    },
  };
}

function named(tool: Tool): Hit {
  return { tool, relevance: 1, why: { scores: { named: 1 }, terms: [] } };
}

async function chosen(gateway: Gateway, asked: Asked): Promise<JsonObject> {
  const { query, context, limit, adapter } = asked;
  const options = await weighed(gateway, asked);
  const pending = pendingServers(gateway).slice(0, 5);
  const shown = options.slice(0, limit + 1);
  const search_context = {
    mode: adapter ? "adapter-specific" : "global",
    matched_adapters: [...new Set(shown.map((option) => option.adapter.id))],
    query_interpreted: interpreted(query, context),
    // An answer that is empty because a server was not asked yet is no answer.
    ...(pending.length > 0 && { not_searched: pending }),
  };
  const [best, second] = options;
  const isTie = second !== undefined && second.confidence === best?.confidence;
  if (!best || best.confidence < optionsOf(gateway).minConfidence || isTie) {
    return { ...undecided(gateway, options.slice(0, limit)), search_context };
  }
  return {
    ...(await recommended(gateway, best, context, false)),
    alternatives: shown.slice(1).map(optionOf),
    search_context,
  };
}

async function weighed(gateway: Gateway, { query, context, adapter }: Asked): Promise<Weighed[]> {
  const find = discoveryOf(gateway)?.find;
  if (!find) {
    throw new GatewayError("PLUGIN_INVALID", 'This preset needs the plugin "discovery", which is not there.');
  }
  const { hits } = await find(query, { server: adapter?.server, limit: CANDIDATES, explain: true });
  const ids = operationIds(gateway);
  const adapters = new Map<string, AdapterInfo>();
  const infoOf = (server: string): AdapterInfo => {
    const known = adapters.get(server) ?? adapterInfo(gateway, server);
    adapters.set(server, known);
    return known;
  };
  // The order of the ranking stands among equals.
  return hits
    .map((hit) => weigh(hit, ids.idOf(hit.tool), infoOf(hit.tool.server), context))
    .sort((a, b) => b.confidence - a.confidence);
}

async function recommended(
  gateway: Gateway,
  best: Weighed,
  context: IntentContext,
  isWhole: boolean,
): Promise<JsonObject> {
  const { hit, id } = best;
  const { tool } = hit;
  return {
    recommended: optionOf(best),
    ready_to_execute: await readyToExecute(gateway, tool, id, isWhole),
    missing_inputs: missingInputs(tool, context),
    next_step: nextStep(gateway, tool),
  };
}

/** Nothing is certain enough, or two are as certain as each other: the agent, or its user, has to say which. */
function undecided(gateway: Gateway, options: readonly Weighed[]): JsonObject {
  const alternatives = options.map(optionOf);
  const ids = alternatives.map(({ tool_id }) => String(tool_id));
  return {
    needs_selection: true,
    missing_inputs:
      ids.length > 0
        ? [{ field: "tool_id", question: `Which of these do you mean: ${ids.join(", ")}?` }]
        : [{ field: "query", question: "What do you want to do, in other words?" }],
    next_step: say(
      gateway,
      ids.length > 0
        ? "Choose one of the alternatives and call gateway.intent with its tool_id, or describe the task in other words"
        : "No tool fits; describe the task in other words, or use gateway.adapters to see what there is",
    ),
    alternatives,
  };
}

function optionOf({ hit: { tool }, id, adapter, confidence, why }: Weighed): JsonObject {
  return {
    adapter: adapter.id,
    tool: id.slice(id.indexOf(":") + 1),
    tool_id: id,
    confidence,
    why,
    description: summaryOf(tool.description ?? tool.title),
  };
}

function checkRegistry(gateway: Gateway): void {
  const problem = operationRegistryOf(gateway)?.problems[0];
  if (problem === undefined) return;
  throw new GatewayError(
    INTENT_DISABLED,
    say(gateway, `gateway.intent is switched off: ${problem} Use gateway.tools and gateway.execute.`),
    { data: { problems: operationRegistryOf(gateway)?.problems.length } },
  );
}
