import { type Gateway, isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import type { RateLimit } from "../../plugins/lib/rate.ts";
import { createExample } from "../../plugins/lib/schema/example.ts";
import { getAllowedValues } from "../../plugins/lib/schema/schema.ts";
import { summarize } from "../../plugins/lib/text/shorten.ts";
import { listToolParameters, type Parameter } from "../shared/meta-tools.ts";
import type { FilledParams } from "./literals.ts";
import { spellToolNames } from "./options.ts";

/** Maximal characters of the schemas of optional parameters. */
const OPTIONAL_CHARACTERS = 3_000;
const REFERENCE = /"#\/(\$defs|definitions)\/((?:[^"\\]|\\.)+)"/g;
const examples = new WeakMap<Tool, Promise<JsonObject | undefined>>();

/** Returns the constraints of an operation, in the terms of the specification. */
export function getConstraints({ services }: Gateway, tool: Tool): JsonObject {
  const { riskLevel, idempotencyRequired, confirmationRequired, rateLimitBucket, requiredScopes } =
    getPolicy(tool);
  const limit = services.rates?.getLimit(rateLimitBucket);
  return {
    risk_level: riskLevel,
    requires_idempotency: idempotencyRequired,
    requires_confirmation: confirmationRequired,
    ...(limit && { rate_limit: renderRate(limit) }),
    ...(requiredScopes.length > 0 && { required_scopes: requiredScopes }),
  };
}

/** Lists the names of an operation's parameters. */
export function listParameterNames({ inputSchema }: Tool): { required: string[]; optional: string[] } {
  const all = listToolParameters(inputSchema);
  return {
    required: all.flatMap(({ name, required }) => (required ? [name] : [])),
    optional: all.flatMap(({ name, required }) => (required ? [] : [name])),
  };
}

/** Describes how to execute an operation. Schemas of optional parameters are cut unless `isWhole`. */
export async function describeExecution(
  gateway: Gateway,
  tool: Tool,
  toolId: string,
  isWhole: boolean,
): Promise<JsonObject> {
  const { inputSchema } = tool;
  const parameters = listToolParameters(inputSchema);
  const { required, optional } = listParameterNames(tool);
  const included = isWhole ? parameters : limitOptional(parameters);
  const schemas = Object.fromEntries(included.map(({ name, schema }) => [name, schema]));
  const example = await getExample(tool);
  return {
    tool_id: toolId,
    required_params: required,
    optional_params: optional,
    param_schemas: schemas,
    ...collectDefinitions(schemas, inputSchema),
    // Constraints on the parameters as a whole are in none of their schemas.
    ...(isWhole && hasRootConstraints(inputSchema) && { input_schema: inputSchema }),
    ...(example && { example }),
    constraints: getConstraints(gateway, tool),
  };
}

/** References that the caller makes up: they are not asked for. */
const OWN_REFERENCE =
  /^(tx_?ref|trx_?ref|(client_?|merchant_?|payment_?)?reference|nonce|request_?id|idempotency_?key)$/i;

/**
 * Lists the inputs that are ambiguous, and the required ones that only a person can tell, each with a question. Those
 * that are filled, have one possible value, or are made up by the caller are not asked.
 */
export function listMissingInputs({ inputSchema }: Tool, { params, ambiguous }: FilledParams): JsonObject[] {
  return listToolParameters(inputSchema).flatMap(({ name, required, schema, description }) => {
    const values = ambiguous.get(name);
    if (values) return [{ field: name, question: `Which of ${values.join(", ")} is "${name}"?` }];
    const isKnown =
      Object.hasOwn(params, name) ||
      Object.hasOwn(schema, "default") ||
      getAllowedValues(schema)?.length === 1 ||
      (OWN_REFERENCE.test(name) && /\bunique\b/i.test(description));
    if (!required || isKnown) return [];
    const choices = Array.isArray(schema["enum"]) ? ` One of ${schema["enum"].slice(0, 10).join(", ")}.` : "";
    const meaning = summarize(description).replace(/([^.!?…])$/, "$1.");
    return [{ field: name, question: `What is "${name}"?${meaning && ` ${meaning}`}${choices}` }];
  });
}

/** Describes the next step for an operation that is ready to execute. */
export function describeNextStep(gateway: Gateway, tool: Tool): string {
  const { idempotencyRequired, confirmationRequired } = getPolicy(tool);
  const needed = [
    ...(idempotencyRequired ? ["options.idempotency_key"] : []),
    ...(confirmationRequired ? ["options.confirmed: true once the user has agreed"] : []),
  ];
  const also = needed.length > 0 ? `, and ${needed.join(" and ")}` : "";
  return spellToolNames(gateway, `Call gateway.execute with tool_id and params${also}`);
}

/** Returns example params of an operation: those of its document, else generated ones of the required parameters. */
export function getExample(tool: Tool): Promise<JsonObject | undefined> {
  const example = examples.get(tool) ?? generateExample(tool);
  examples.set(tool, example);
  return example;
}

async function generateExample({ operation, inputSchema }: Tool): Promise<JsonObject | undefined> {
  // Optional parameters would only hide the required ones.
  const required = listToolParameters(inputSchema).filter((parameter) => parameter.required);
  const own = operation?.examples.find((example) =>
    required.every(({ name }) => Object.hasOwn(example, name)),
  );
  if (own && required.length > 0) return Object.fromEntries(required.map(({ name }) => [name, own[name]]));
  const properties = Object.fromEntries(required.map(({ name, schema }) => [name, schema]));
  const example = await createExample(
    isJsonObject(inputSchema["properties"]) ? { ...inputSchema, properties } : inputSchema,
  );
  return isJsonObject(example) ? example : undefined;
}

/** Renders a limit, such as `100 req/min`. */
function renderRate({ limit, perMs }: RateLimit): string {
  const units: Readonly<Record<number, string>> = { 1000: "s", 60000: "min", 3600000: "h" };
  return `${limit} req/${units[perMs] ?? `${perMs} ms`}`;
}

function limitOptional(parameters: readonly Parameter[]): readonly Parameter[] {
  let left = OPTIONAL_CHARACTERS;
  return parameters.filter(({ required, schema }) => {
    if (required) return true;
    const size = JSON.stringify(schema).length;
    if (size > left) return false;
    left -= size;
    return true;
  });
}

/** Collects the definitions that schemas refer to, and those that these refer to. */
function collectDefinitions(schemas: JsonObject, root: JsonObject): JsonObject {
  const found: Record<string, JsonObject> = {};
  const queue = [JSON.stringify(schemas)];
  for (let json = queue.pop(); json !== undefined; json = queue.pop()) {
    for (const [, place = "", escaped = ""] of json.matchAll(REFERENCE)) {
      const name = (JSON.parse(`"${escaped}"`) as string).replaceAll("~1", "/").replaceAll("~0", "~");
      const all = root[place];
      if (!isJsonObject(all) || !Object.hasOwn(all, name)) continue;
      found[place] ??= {};
      if (Object.hasOwn(found[place], name)) continue;
      found[place][name] = all[name];
      queue.push(JSON.stringify(all[name]) ?? "");
    }
  }
  return found;
}

function hasRootConstraints(schema: JsonObject): boolean {
  const words = ["anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties", "dependentRequired"];
  return words.some((word) => Object.hasOwn(schema, word)) || isJsonObject(schema["additionalProperties"]);
}
