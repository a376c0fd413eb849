import {
  type Gateway,
  GatewayError,
  type JsonObject,
  type MetaTool,
  nearest,
  type Tool,
} from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { jsonResult } from "../_answers.ts";
import { type AdapterInfo, adapterInfo, adaptersOf, findAdapter, toolsOf } from "./adapter-info.ts";
import { type Concept, conceptOf, concepts } from "./concepts.ts";
import { exampleFor } from "./example.ts";
import { findOperation } from "./find-operation.ts";
import { operationIds } from "./operation-ids.ts";
import { say } from "./options-of.ts";

import { constraintsOf, paramsOf } from "./ready.ts";

const MAX_EXAMPLES = 3;
const SECTIONS = ["overview", "authentication", "examples", "errors", "webhooks", "best_practices"] as const;

/** Tells what is to be known of an adapter, an operation or an idea of the gateway, and where to read on. */
export const reference: MetaTool = {
  name: "gateway.reference",
  description: "Get documentation, examples, and usage guides.",
  inputSchema: {
    type: "object",
    properties: {
      topic: { type: "string", description: "Adapter name, tool_id, or concept" },
      section: { type: "string", enum: [...SECTIONS, "all"] },
    },
    required: ["topic"],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  async run({ topic: given, section = "all" }, { gateway }) {
    const topic = String(given).trim();
    const { type, sections } = await sectionsOf(gateway, topic);
    const all = Object.entries(sections).filter(([, value]) => value !== undefined);
    // In the answer of the specification, the section `errors` is called after what it holds.
    const wanted = section === "errors" ? "common_errors" : section;
    const shown = all.filter(([name]) => wanted === "all" || name === wanted);
    const there = all.map(([name]) => (name === "common_errors" ? "errors" : name));
    return jsonResult({
      topic,
      type,
      ...Object.fromEntries(shown),
      ...(shown.length === 0 && { sections: there }),
      next_step: say(gateway, nextSteps[type]),
    });
  },
};

type Topic = "adapter" | "tool" | "concept";

const nextSteps: Readonly<Record<Topic, string>> = {
  adapter: "Use gateway.intent with your task, or gateway.tools to explore the adapter",
  tool: "Use gateway.intent with the tool_id for full schema, then gateway.execute",
  concept: "Use gateway.intent with your task",
};

interface Sections {
  readonly overview: JsonObject;
  readonly authentication?: JsonObject | undefined;
  readonly examples?: readonly JsonObject[] | undefined;
  readonly common_errors?: readonly object[] | undefined;
  readonly webhooks?: JsonObject | undefined;
  readonly best_practices?: readonly string[] | undefined;
}

async function sectionsOf(gateway: Gateway, topic: string): Promise<{ type: Topic; sections: Sections }> {
  const tool = topic.includes(":") ? await findOperation(gateway, topic) : undefined;
  if (tool && !tool.builtin && tool.enabled) return { type: "tool", sections: await ofTool(gateway, tool) };
  // An adapter of this name goes before an idea: it is there because somebody put it there.
  const isAdapter = adaptersOf(gateway).some(
    ({ id, server, name }) =>
      [id, server, name.toLowerCase()].includes(topic) || name.toLowerCase() === topic.toLowerCase(),
  );
  const concept = isAdapter ? undefined : conceptOf(topic);
  if (concept) return { type: "concept", sections: ofConcept(gateway, concept) };
  if (!isAdapter) throw unknown(gateway, topic);
  return { type: "adapter", sections: await ofAdapter(gateway, findAdapter(gateway, topic)) };
}

async function ofAdapter(gateway: Gateway, adapter: AdapterInfo): Promise<Sections> {
  const ids = operationIds(gateway);
  const common = adapter.commonOperations.flatMap((id) => ids.tools.get(id) ?? []);
  const shown = (common.length > 0 ? common : toolsOf(gateway, adapter)).slice(0, MAX_EXAMPLES);
  return {
    overview: {
      name: adapter.name,
      description: adapter.description,
      ...(adapter.documentation && { documentation: adapter.documentation }),
    },
    authentication: authenticationOf(adapter),
    examples: (await Promise.all(shown.map((tool) => exampleRow(gateway, tool)))).flat(),
    common_errors: adapter.errors,
    webhooks: adapter.webhooks === undefined ? undefined : { documentation: adapter.webhooks },
    best_practices: adapter.bestPractices,
  };
}

async function ofTool(gateway: Gateway, tool: Tool): Promise<Sections> {
  const adapter = adapterInfo(gateway, tool.server);
  const { operation } = tool;
  return {
    overview: {
      name: tool.title ?? tool.name,
      description: tool.description ?? "",
      adapter: adapter.id,
      ...(operation && { method: operation.method, path: operation.path }),
      ...(operation?.deprecated && { deprecated: true }),
      required_params: paramsOf(tool).required,
      constraints: constraintsOf(gateway, tool),
      ...(adapter.documentation && { documentation: adapter.documentation }),
    },
    authentication: authenticationOf(adapter),
    examples: await exampleRow(gateway, tool),
    common_errors: [
      ...(operation?.errors ?? []).map(({ status, meaning }) => ({
        code: status,
        meaning,
        ...fixOf(status, adapter),
      })),
      ...adapter.errors,
    ],
    webhooks: adapter.webhooks === undefined ? undefined : { documentation: adapter.webhooks },
    best_practices: [...practicesOf(tool), ...adapter.bestPractices],
  };
}

function ofConcept(
  gateway: Gateway,
  { name, description, examples, errors, bestPractices }: Concept,
): Sections {
  return {
    overview: { name, description: say(gateway, description) },
    examples,
    common_errors: errors?.map((error) => ({ ...error, fix: say(gateway, error.fix) })),
    best_practices: bestPractices?.map((practice) => say(gateway, practice)),
  };
}

/** How the gateway proves who it is. The value is never shown, only where it is. */
function authenticationOf({ authType, envVar }: AdapterInfo): JsonObject {
  const value = envVar === undefined ? "…" : `$${envVar}`;
  const headers: Readonly<Partial<Record<typeof authType, string>>> = {
    bearer: `Authorization: Bearer ${value}`,
    oauth2: `Authorization: Bearer ${value}`,
    basic: `Authorization: Basic ${value}`,
  };
  const header = headers[authType];
  return { type: authType, ...(header && { header }), ...(envVar !== undefined && { env_var: envVar }) };
}

async function exampleRow(gateway: Gateway, tool: Tool): Promise<JsonObject[]> {
  const request = await exampleFor(tool);
  const tool_id = operationIds(gateway).idOf(tool);
  return request ? [{ title: tool.title ?? tool.name, tool_id, request }] : [];
}

/** What can be done about an answer of HTTP, where anything can be said of it. */
function fixOf(status: string, { envVar }: AdapterInfo): { readonly fix?: string } {
  if (status === "401" || status === "403") {
    return { fix: envVar ? `Check ${envVar}, and what it is allowed to do` : "Check the credential" };
  }
  if (status === "429") return { fix: "Wait, then try again" };
  if (status === "404") return { fix: "Check the ids in params" };
  return status === "400" || status === "422" ? { fix: "Correct params" } : {};
}

function practicesOf(tool: Tool): string[] {
  const { idempotencyRequired, confirmationRequired } = getPolicy(tool);
  return [
    ...(idempotencyRequired
      ? ["Give options.idempotency_key, and the same one when the call is repeated"]
      : []),
    ...(confirmationRequired ? ["Ask the user before options.confirmed: true"] : []),
    ...(idempotencyRequired || confirmationRequired ? ["Try it with options.dry_run: true first"] : []),
  ];
}

function unknown(gateway: Gateway, topic: string): GatewayError {
  const names = [...Object.keys(concepts), ...adaptersOf(gateway).map(({ id }) => id)];
  const hint = nearest(topic, names);
  return new GatewayError(
    "TOOL_NOT_FOUND",
    say(
      gateway,
      `There is nothing on "${topic.slice(0, 80)}"${hint ? `; did you mean "${hint}"?` : "."} A topic is an adapter (gateway.adapters lists them), a tool_id, or one of ${Object.keys(concepts).join(", ")}.`,
    ),
    { data: { topic, suggestions: hint ? [hint] : [] } },
  );
}
