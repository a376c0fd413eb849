import { setImmediate } from "node:timers/promises";
import { GatewayError, type JsonObject, type ToolDefinition, type ToolResult } from "../../core/mod.ts";
import type { Listing } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import type { DiscoveredTool } from "./discovered.ts";
import { SCHEMA_CONVERSION_FAILED } from "./errors.ts";
import type { InferTags } from "./manifest.ts";

/** Context of an output introspection. */
export interface IntrospectContext {
  readonly config: ServerConfig;
  /** Calls a tool in the session that is open. */
  readonly call: (tool: ToolDefinition, args: JsonObject) => Promise<ToolResult>;
  readonly signal?: AbortSignal | undefined;
}

/** Finds out the output schema of a tool; undefined if that is unsafe or impossible. */
export type IntrospectOutput = (
  tool: ToolDefinition,
  context: IntrospectContext,
) => Promise<JsonObject | undefined>;

/** Functions that enrich tools. */
export interface Enriching {
  /** Emits a JSON Schema as a type. */
  readonly emitType: (schema: JsonObject) => string;
  readonly inferTags: InferTags;
  readonly introspectOutput?: IntrospectOutput | undefined;
}

/** Type of an unknown value. */
const ANY_TYPE = ":any";

/** Reports a failure that does not end the discovery. */
type Warn = (warning: GatewayError) => void;

/** Tool with its types. */
type TypedTool = ToolDefinition & Pick<DiscoveredTool, "inputType" | "outputType">;

/** Converting schemas blocks the process: it yields after this many tools. */
const AT_ONCE = 200;

/** Adds the types of input and output. A schema that cannot be converted has the type of any value. */
export async function emitTypes(
  { tools, repaired = [] }: Pick<Listing, "tools" | "repaired">,
  server: string,
  parts: Enriching,
  warn: Warn,
): Promise<readonly TypedTool[]> {
  const typed: TypedTool[] = [];
  for (const [index, tool] of tools.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const { inputSchema, outputSchema } = tool;
    const type = (schema: JsonObject): string => toType(schema, { server, tool: tool.name }, parts, warn);
    typed.push({
      ...tool,
      inputType: type(inputSchema),
      ...(outputSchema && { outputType: type(outputSchema) }),
    });
  }
  const names = new Set(tools.map(({ name }) => name));
  for (const tool of repaired.filter(({ name }) => !names.has(name))) {
    warn(conversionFailed({ server, tool: tool.name }, new Error("Its input schema cannot be read.")));
    const { outputSchema: _, ...rest } = tool;
    typed.push({ ...rest, inputType: ANY_TYPE });
  }
  return typed;
}

/** Adds missing output schemas, one tool after another. A tool whose introspection fails gets none. */
export async function addOutputs(
  tools: readonly TypedTool[],
  context: IntrospectContext,
  parts: Enriching,
  warn: Warn,
): Promise<readonly TypedTool[]> {
  const { introspectOutput } = parts;
  if (!introspectOutput) return tools;
  const complete: TypedTool[] = [];
  const { name: server } = context.config;
  for (const tool of tools) {
    const { inputType: _in, outputType: _out, ...definition } = tool;
    const outputSchema =
      tool.outputSchema === undefined && !context.signal?.aborted
        ? await introspectOutput(definition, context).catch(() => undefined)
        : undefined;
    const outputType = outputSchema && toType(outputSchema, { server, tool: tool.name }, parts, warn);
    complete.push(outputSchema ? { ...tool, outputSchema, outputType } : tool);
  }
  return complete;
}

/** Adds the domains and categories of tools. */
export function addDomains(
  tools: readonly TypedTool[],
  server: string,
  { inferTags }: Enriching,
): readonly DiscoveredTool[] {
  return tools.map((tool) => ({ ...tool, ...inferTags(server, tool) }));
}

function toType(
  schema: JsonObject,
  { server, tool }: { readonly server: string; readonly tool: string },
  { emitType }: Enriching,
  warn: Warn,
): string {
  try {
    const type = emitType(schema);
    const fault = type === ANY_TYPE ? findTypeFault(schema) : undefined;
    if (fault !== undefined) warn(conversionFailed({ server, tool }, new Error(fault)));
    return type;
  } catch (cause) {
    warn(conversionFailed({ server, tool }, cause));
    return ANY_TYPE;
  }
}

const known = new Set(["string", "integer", "number", "boolean", "array", "object", "null"]);

/** Finds out why a schema says nothing about its values, if that cannot be meant. */
function findTypeFault({ type, $ref }: JsonObject): string | undefined {
  const unknown = [type].flat().find((one) => one !== undefined && !known.has(String(one)));
  if (unknown !== undefined) return `There is no type ${JSON.stringify(unknown)}.`;
  return typeof $ref === "string" ? `The reference ${$ref} leads to no type.` : undefined;
}

function conversionFailed(
  { server, tool }: { readonly server: string; readonly tool: string },
  cause: unknown,
): GatewayError {
  const message = `A schema of the tool "${tool}" of the server "${server}" cannot be turned into a type; any value is taken for it.`;
  return new GatewayError(SCHEMA_CONVERSION_FAILED, message, { cause, data: { server, tool } });
}
