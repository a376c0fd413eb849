import type { Gateway, JsonObject, Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { exampleFor } from "./example.ts";
import { operationIds } from "./operation-ids.ts";
import { isIdempotent } from "./policy-of.ts";
import { paramsOf } from "./ready.ts";

/** The version of the form below. */
export const SCHEMA_VERSION = "1.0.0";

/** Every operation, in the form of the specification. It is made from the catalog, and never the other way round. */
export interface OperationRegistry {
  readonly schema_version: string;
  readonly last_verified_at: string;
  readonly operation_count: number;
  readonly operations: Readonly<Record<string, JsonObject>>;
}

/** What the registry tells of an operation, without an example: what is checked at every start. */
export function entryOf(id: string, tool: Tool): JsonObject {
  const { required, optional } = paramsOf(tool);
  const policy = getPolicy(tool);
  const colon = id.indexOf(":");
  return {
    adapter: id.slice(0, colon),
    tool: id.slice(colon + 1),
    description: tool.description ?? tool.title ?? tool.name,
    tags: tool.tags,
    method: tool.operation?.method ?? "MCP",
    // Of a tool of an MCP server: what it is called there, which is the way back from its id.
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
    common_errors: (tool.operation?.errors ?? []).map(({ status }) => status),
  };
}

/** The operations that can be called now, by their ids, in the order of these. */
export function liveOperations(gateway: Gateway): Map<string, Tool> {
  const usable = [...operationIds(gateway).tools].filter(([, { enabled }]) => enabled);
  return new Map(usable.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Makes the registry from the catalog, examples left out. */
export function outlineOf(gateway: Gateway, now: Date = new Date()): OperationRegistry {
  const live = liveOperations(gateway);
  return {
    schema_version: SCHEMA_VERSION,
    last_verified_at: now.toISOString(),
    operation_count: live.size,
    operations: Object.fromEntries([...live].map(([id, tool]) => [id, entryOf(id, tool)])),
  };
}

/** The same with an example of each operation, as it is written to a file. */
export async function registryOf(gateway: Gateway, now?: Date): Promise<OperationRegistry> {
  const outline = outlineOf(gateway, now);
  const operations: Record<string, JsonObject> = {};
  for (const [id, tool] of liveOperations(gateway)) {
    const example = await exampleFor(tool);
    operations[id] = { ...outline.operations[id], ...(example && { example_request: example }) };
  }
  return { ...outline, operations };
}
