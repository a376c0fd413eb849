import {
  type ErrorKind,
  type Gateway,
  GatewayError,
  type JsonObject,
  type MetaTool,
  nearest,
  type Tool,
} from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { toJsonResult } from "../shared/meta-tools.ts";
import {
  type AdapterInfo,
  describeHttpError,
  findAdapter,
  getAdapter,
  getCommonOperations,
  listAdapters,
  listAdapterTools,
} from "./adapter-info.ts";
import { concepts, findConcept, type GatewayConcept } from "./concepts.ts";
import { getFix, hasFix } from "./failure.ts";
import { describeOperation, findOperation, getOperationIds } from "./operations.ts";
import { spellToolNames } from "./options.ts";
import { getConstraints, getExample, listParameterNames } from "./ready.ts";

const MAX_EXAMPLES = 3;
const SECTIONS = ["overview", "authentication", "examples", "errors", "webhooks", "best_practices"] as const;
const nextSteps = {
  adapter: "Use gateway.intent with your task, or gateway.tools to explore the adapter",
  tool: "Call gateway.execute with the tool_id and params of input_schema",
  concept: "Use gateway.intent with your task",
};

interface Topic {
  readonly type: keyof typeof nextSteps;
  readonly overview: JsonObject;
  readonly authentication?: JsonObject | undefined;
  readonly examples?: readonly JsonObject[] | undefined;
  readonly common_errors?: readonly object[] | undefined;
  readonly webhooks?: JsonObject | undefined;
  readonly best_practices?: readonly string[] | undefined;
}

/** Creates the meta-tool that documents an adapter, an operation, or a concept or error code of the gateway. */
export function createReferenceTool(kinds: readonly ErrorKind[]): MetaTool {
  return {
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
      const { type, ...sections } = await findTopic(gateway, topic, kinds);
      const all = Object.entries(sections).filter(([, value]) => value !== undefined);
      // The specification answers the section `errors` under another name.
      const wanted = section === "errors" ? "common_errors" : section;
      const chosen = all.filter(([name]) => wanted === "all" || name === wanted);
      const names = all.map(([name]) => (name === "common_errors" ? "errors" : name));
      return toJsonResult({
        topic,
        type,
        ...Object.fromEntries(chosen),
        ...(chosen.length === 0 && { sections: names }),
        next_step: spellToolNames(gateway, nextSteps[type]),
      });
    },
  };
}

async function findTopic(gateway: Gateway, topic: string, kinds: readonly ErrorKind[]): Promise<Topic> {
  const tool = topic.includes(":") ? await findOperation(gateway, topic) : undefined;
  if (tool && !tool.builtin && tool.enabled) return describeTool(gateway, tool);
  const wanted = topic.toLowerCase();
  // An adapter goes before a concept of its name: a user has configured it.
  const isAdapter = listAdapters(gateway).some(
    ({ id, server, name }) => [id, server].includes(topic) || name.toLowerCase() === wanted,
  );
  if (isAdapter) return describeAdapter(gateway, findAdapter(gateway, topic));
  const concept = findConcept(topic);
  if (concept)
    return describeConcept(gateway, concept === concepts["errors"] ? listKinds(concept, kinds) : concept);
  const kind = kinds.find(({ code }) => code === topic.toUpperCase());
  if (kind) {
    const { meaning } = describeKind(kind);
    return describeConcept(gateway, { name: kind.code, description: meaning, errors: [describeKind(kind)] });
  }
  throw createUnknownTopicError(gateway, topic);
}

async function describeAdapter(gateway: Gateway, adapter: AdapterInfo): Promise<Topic> {
  const ids = getOperationIds(gateway);
  const common = getCommonOperations(gateway, adapter).flatMap((id) => ids.tools.get(id) ?? []);
  const tools = (common.length > 0 ? common : listAdapterTools(gateway, adapter)).slice(0, MAX_EXAMPLES);
  return {
    type: "adapter",
    overview: {
      name: adapter.name,
      description: adapter.description,
      ...(adapter.documentation && { documentation: adapter.documentation }),
    },
    authentication: describeAuthentication(adapter),
    examples: (await Promise.all(tools.map((tool) => listExamples(gateway, tool)))).flat(),
    common_errors: adapter.errors,
    webhooks: describeWebhooks(adapter),
    best_practices: adapter.bestPractices,
  };
}

async function describeTool(gateway: Gateway, tool: Tool): Promise<Topic> {
  const adapter = getAdapter(gateway, tool.server);
  const { operation } = tool;
  return {
    type: "tool",
    overview: {
      name: tool.title ?? tool.name,
      description: describeOperation(tool),
      adapter: adapter.id,
      ...(operation && { method: operation.method, path: operation.path }),
      ...(operation?.deprecated && { deprecated: true }),
      required_params: listParameterNames(tool).required,
      input_schema: tool.inputSchema,
      constraints: getConstraints(gateway, tool),
      ...(adapter.documentation && { documentation: adapter.documentation }),
    },
    authentication: describeAuthentication(adapter),
    examples: await listExamples(gateway, tool),
    common_errors: [
      ...(operation?.errors ?? []).map(({ status, meaning }) => describeHttpError(adapter, status, meaning)),
      ...adapter.errors,
    ],
    webhooks: describeWebhooks(adapter),
    best_practices: [...listPractices(tool), ...adapter.bestPractices],
  };
}

/** Adds every code to the concept: those an agent can do something about with meaning and fix, the others by name. */
function listKinds(concept: GatewayConcept, kinds: readonly ErrorKind[]): GatewayConcept {
  const others = kinds.flatMap((kind) => (hasFix(kind) ? [] : [kind.code]));
  return {
    ...concept,
    description: `${concept.description} Any code is a topic of gateway.reference; there are also ${others.join(", ")}.`,
    errors: kinds.filter(hasFix).map(describeKind),
  };
}

function describeKind(kind: ErrorKind): { code: string; meaning: string; fix: string } {
  return { code: kind.code, meaning: kind.description ?? "", fix: getFix(kind) };
}

function describeConcept(gateway: Gateway, concept: GatewayConcept): Topic {
  const { name, description, examples, errors, bestPractices } = concept;
  const spell = (sentence: string): string => spellToolNames(gateway, sentence);
  return {
    type: "concept",
    overview: { name, description: spell(description) },
    examples,
    common_errors: errors?.map((error) => ({ ...error, fix: spell(error.fix) })),
    best_practices: bestPractices?.map(spell),
  };
}

/** Describes how the gateway authenticates: the name of the variable, never its value. */
function describeAuthentication({ authType, envVar }: AdapterInfo): JsonObject {
  const value = envVar === undefined ? "…" : `$${envVar}`;
  const schemes: Readonly<Partial<Record<typeof authType, string>>> = {
    bearer: "Bearer",
    oauth2: "Bearer",
    basic: "Basic",
  };
  const scheme = schemes[authType];
  return {
    type: authType,
    ...(scheme && { header: `Authorization: ${scheme} ${value}` }),
    ...(envVar !== undefined && { env_var: envVar }),
  };
}

function describeWebhooks({ webhooks }: AdapterInfo): JsonObject | undefined {
  return webhooks === undefined ? undefined : { documentation: webhooks };
}

async function listExamples(gateway: Gateway, tool: Tool): Promise<JsonObject[]> {
  const request = await getExample(tool);
  const tool_id = getOperationIds(gateway).getId(tool);
  const response = tool.operation?.exampleAnswer;
  return request
    ? [{ title: tool.title ?? tool.name, tool_id, request, ...(response !== undefined && { response }) }]
    : [];
}

function listPractices(tool: Tool): string[] {
  const { idempotencyRequired, confirmationRequired } = getPolicy(tool);
  return [
    ...(idempotencyRequired
      ? ["Give options.idempotency_key, and the same one when the call is repeated"]
      : []),
    ...(confirmationRequired ? ["Ask the user before options.confirmed: true"] : []),
    ...(idempotencyRequired || confirmationRequired ? ["Try it with options.dry_run: true first"] : []),
  ];
}

function createUnknownTopicError(gateway: Gateway, topic: string): GatewayError {
  const topics = Object.keys(concepts);
  const hint = nearest(topic, [...topics, ...listAdapters(gateway).map(({ id }) => id)]);
  const message = `There is nothing on "${topic.slice(0, 80)}"${hint ? `; did you mean "${hint}"?` : "."} A topic is an adapter (gateway.adapters lists them), a tool_id, or one of ${topics.join(", ")}.`;
  return new GatewayError("TOOL_NOT_FOUND", spellToolNames(gateway, message), {
    data: { topic, suggestions: hint ? [hint] : [] },
  });
}
