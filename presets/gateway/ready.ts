import { type Gateway, isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import type { RateLimit } from "../../plugins/lib/rate.ts";
import { type Parameter, parametersOf } from "../_answers.ts";
import { exampleFor } from "./example.ts";

/** How much is told of what can be left out, unless all of it is asked for. */
const OPTIONAL_CHARACTERS = 3_000;
const REFERENCE = /"#\/(\$defs|definitions)\/((?:[^"\\]|\\.)+)"/g;

/** What is asked of whoever calls an operation, in the words of the specification. */
export function constraintsOf({ services }: Gateway, tool: Tool): JsonObject {
  const { riskLevel, idempotencyRequired, confirmationRequired, rateLimitBucket, requiredScopes } =
    getPolicy(tool);
  return {
    risk_level: riskLevel,
    requires_idempotency: idempotencyRequired,
    requires_confirmation: confirmationRequired,
    rate_limit: rateOf(services.rates?.getLimit(rateLimitBucket)) ?? rateLimitBucket,
    ...(requiredScopes.length > 0 && { required_scopes: requiredScopes }),
  };
}

/** The names of an operation's parameters. */
export function paramsOf({ inputSchema }: Tool): { required: string[]; optional: string[] } {
  const all = parametersOf(inputSchema);
  return {
    required: all.flatMap(({ name, required }) => (required ? [name] : [])),
    optional: all.flatMap(({ name, required }) => (required ? [] : [name])),
  };
}

/** Everything needed to execute an operation. What is optional is told as far as it is bearable, or whole. */
export async function readyToExecute(
  gateway: Gateway,
  tool: Tool,
  toolId: string,
  isWhole: boolean,
): Promise<JsonObject> {
  const { inputSchema } = tool;
  const parameters = parametersOf(inputSchema);
  const { required, optional } = paramsOf(tool);
  const shown = isWhole ? parameters : withinReason(parameters);
  const schemas = Object.fromEntries(shown.map(({ name, schema }) => [name, schema]));
  const definitions = definitionsFor(schemas, inputSchema);
  const example = await exampleFor(tool);
  return {
    tool_id: toolId,
    required_params: required,
    optional_params: optional,
    param_schemas: schemas,
    ...definitions,
    // What is said of the parameters as a whole is not in any of them.
    ...(isWhole && saysMore(inputSchema) && { input_schema: inputSchema }),
    ...(example && { example }),
    constraints: constraintsOf(gateway, tool),
  };
}

/** A limit in words: `100 req/min`. */
function rateOf(limit: RateLimit | undefined): string | undefined {
  if (!limit) return undefined;
  const units = [
    ["s", 1_000],
    ["min", 60_000],
    ["h", 3_600_000],
  ] as const;
  const [unit] = units.find(([, ms]) => ms === limit.perMs) ?? [`${limit.perMs} ms`];
  return `${limit.limit} req/${unit}`;
}

function withinReason(parameters: readonly Parameter[]): readonly Parameter[] {
  let left = OPTIONAL_CHARACTERS;
  return parameters.filter(({ required, schema }) => {
    if (required) return true;
    const size = JSON.stringify(schema).length;
    if (size > left) return false;
    left -= size;
    return true;
  });
}

/** The definitions that schemas refer to, and those that these refer to. */
function definitionsFor(schemas: JsonObject, root: JsonObject): JsonObject {
  const found: Record<string, JsonObject> = {};
  const queue = [JSON.stringify(schemas)];
  for (let text = queue.pop(); text !== undefined; text = queue.pop()) {
    for (const [, place = "", escaped = ""] of text.matchAll(REFERENCE)) {
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

function saysMore(schema: JsonObject): boolean {
  const words = ["anyOf", "oneOf", "allOf", "not", "if", "$ref", "patternProperties", "dependentRequired"];
  return words.some((word) => Object.hasOwn(schema, word)) || isJsonObject(schema["additionalProperties"]);
}
