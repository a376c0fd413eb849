import { type Gateway, isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { type AdapterInfo, describeHttpError, getAdapter, getCountryName } from "./adapter-info.ts";
import { describeOperation, getCategory, isIdempotent, listLiveOperations } from "./operations.ts";
import { getExample, listParameterNames } from "./ready.ts";

const SCHEMA_VERSION = "1.0.0";
const MAX_NAMED = 3;

/** Every operation, in the form of the specification. It is created from the catalog, never the other way round. */
interface OperationRegistry {
  readonly schema_version: string;
  readonly last_verified_at: string;
  readonly operation_count: number;
  readonly operations: Readonly<Record<string, JsonObject>>;
}

type Check = (value: unknown) => boolean;

const isNonEmptyString: Check = (value) => typeof value === "string" && value !== "";
const isBoolean: Check = (value) => typeof value === "boolean";
const isRiskLevel: Check = (value) => ["low", "medium", "high", "destructive"].includes(value as string);

/** Required fields of an operation in a registry. */
const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  fields: {
    adapter: isNonEmptyString,
    tool: isNonEmptyString,
    description: (value) => typeof value === "string",
    tags: Array.isArray,
    method: isNonEmptyString,
    path: isNonEmptyString,
    input_schema: isJsonObject,
    required_params: Array.isArray,
    optional_params: Array.isArray,
  },
  "risk metadata": {
    risk_level: isRiskLevel,
    idempotent: isBoolean,
    reversible: isBoolean,
    requires_confirmation: isBoolean,
  },
};

/** Creates the registry from the catalog, without examples: the part that is checked at every start. */
export function createRegistryOutline(gateway: Gateway): OperationRegistry {
  const operations = listLiveOperations(gateway);
  return {
    schema_version: SCHEMA_VERSION,
    last_verified_at: new Date().toISOString(),
    operation_count: operations.size,
    operations: Object.fromEntries(
      [...operations].map(([id, tool]) => [id, toRegistryEntry(gateway, id, tool)]),
    ),
  };
}

/** Creates the registry with an example of each operation, as it is written to a file. */
export async function createRegistry(gateway: Gateway): Promise<OperationRegistry> {
  const outline = createRegistryOutline(gateway);
  const operations: Record<string, JsonObject> = {};
  for (const [id, tool] of listLiveOperations(gateway)) {
    const example = await getExample(tool);
    operations[id] = { ...outline.operations[id], ...(example && { example_request: example }) };
  }
  return { ...outline, operations };
}

function toRegistryEntry(gateway: Gateway, id: string, tool: Tool): JsonObject {
  const { required, optional } = listParameterNames(tool);
  const policy = getPolicy(tool);
  const adapter = getAdapter(gateway, tool.server);
  const colon = id.indexOf(":");
  return {
    adapter: id.slice(0, colon),
    tool: id.slice(colon + 1),
    description: describeOperation(tool),
    tags: listTags(adapter, tool),
    method: tool.operation?.method ?? "MCP",
    // For a tool of an MCP server, its id in the catalog: the way back from the operation id.
    path: tool.operation?.path ?? tool.id,
    input_schema: tool.inputSchema,
    required_params: required,
    optional_params: optional,
    risk_level: policy.riskLevel,
    idempotent: isIdempotent(tool),
    idempotency_required: policy.idempotencyRequired,
    reversible: policy.reversible,
    requires_confirmation: policy.confirmationRequired,
    required_scopes: policy.requiredScopes,
    rate_limit_bucket: policy.rateLimitBucket,
    common_errors: [
      ...(tool.operation?.errors ?? []).map(({ status, meaning }) =>
        describeHttpError(adapter, status, meaning),
      ),
      ...adapter.errors,
    ],
  };
}

/** Lists the tags of an operation: its own, its category and resource, and countries and currencies of its adapter. */
function listTags({ category, countries, currencies }: AdapterInfo, tool: Tool): string[] {
  const places = countries.map((code) => getCountryName(code) ?? code);
  const all = [...tool.tags, category, getCategory(tool), ...places, ...currencies];
  return [...new Set(all.map((tag) => tag.toLowerCase()))];
}

/**
 * Compares a registry with the operations that exist. Returns a sentence for each fault: unknown or missing
 * operations, missing fields, a wrong count, and where `riskExpected` operations without a policy.
 */
export function findRegistryFaults(
  registry: unknown,
  live: ReadonlyMap<string, Tool>,
  { riskExpected = false }: { readonly riskExpected?: boolean } = {},
): string[] {
  if (!isJsonObject(registry) || !isJsonObject(registry["operations"])) {
    return ["The registry holds no operations."];
  }
  const { schema_version, operation_count, last_verified_at } = registry;
  const operations = Object.entries(registry["operations"]);
  const faults: string[] = [];
  const addIf = (ids: readonly string[], problem: string): void => {
    if (ids.length > 0) faults.push(`${problem}: ${nameSome(ids)}.`);
  };
  if (schema_version !== SCHEMA_VERSION) {
    faults.push(`The registry is of another version than ${SCHEMA_VERSION}.`);
  }
  if (typeof last_verified_at !== "string" || Number.isNaN(Date.parse(last_verified_at))) {
    faults.push("The registry does not say when it was verified.");
  }
  const ids = operations.map(([id]) => id);
  const registered = new Set(ids);
  addIf(
    ids.filter((id) => !live.has(id)),
    "The registry has operations that do not exist",
  );
  addIf(
    [...live.keys()].filter((id) => !registered.has(id)),
    "The registry lacks operations",
  );
  if (operation_count !== live.size || operations.length !== live.size) {
    faults.push(
      `The registry counts ${String(operation_count)} operations and has ${operations.length}, but there are ${live.size}.`,
    );
  }
  for (const [what, required] of Object.entries(checks)) {
    const isComplete = (entry: unknown): boolean =>
      isJsonObject(entry) && Object.entries(required).every(([field, check]) => check(entry[field]));
    addIf(
      operations.flatMap(([id, entry]) => (isComplete(entry) ? [] : [id])),
      `The registry lacks ${what} of`,
    );
  }
  const unjudged = riskExpected ? [...live].flatMap(([id, { policy }]) => (policy ? [] : [id])) : [];
  addIf(unjudged, "No plugin rates the risk of these operations");
  return faults;
}

function nameSome(ids: readonly string[]): string {
  const more = ids.length - MAX_NAMED;
  return `${ids.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
