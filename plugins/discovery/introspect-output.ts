import {
  type Gateway,
  isJsonObject,
  type JsonObject,
  type Tool,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import { hashTool } from "../lib/hash.ts";
import { parseJson } from "../lib/json.ts";
import { inferPolicy } from "../lib/risk.ts";
import { createExample } from "../lib/schema/example.ts";
import type { IntrospectContext, IntrospectOutput } from "./enrich.ts";

/** Longer results are not parsed. */
const MAX_CHARACTERS = 1_000_000;

/** Finds out the output schema of a tool, without a session of its own. */
type OutputIntrospection = (
  tool: ToolDefinition,
  context: Pick<IntrospectContext, "config" | "signal">,
) => ReturnType<IntrospectOutput>;

/**
 * Finds out output schemas by calling each tool once, with example arguments. Only tools are called that
 * are low-risk by their policy and that `mayCall` allows; a call runs through the pipeline of the gateway, so it is
 * checked and audited as any other, and a tool that is not in its catalog is not called. A failure gives no schema.
 */
export function createOutputIntrospection(
  gateway: Gateway,
  mayCall: (tool: Tool) => boolean = (tool) => isApproved(gateway, tool.server),
): OutputIntrospection {
  const known = new Map<string, Promise<JsonObject | undefined>>();
  const listed = new Map<string, Promise<void>>();
  return async (definition, { config, signal }) => {
    const id = `${config.name}:${definition.name}`;
    if (!gateway.catalog.tool(id)) await listOnce(config.name);
    const tool = gateway.catalog.tool(id);
    if (!tool || hashTool(tool) !== hashTool(definition)) return undefined;
    const key = `${tool.id} ${hashTool(tool)}`;
    const introspect = (): ReturnType<OutputIntrospection> =>
      mayCall(tool) ? introspectOutput(gateway, tool, signal) : Promise.resolve(tool.outputSchema);
    const found = known.get(key) ?? introspect().catch(() => undefined);
    // A failure is cached too: no tool is called twice for its schema.
    known.set(key, found);
    return found;
  };

  /** Lists a server of the gateway that was not listed yet: the catalog of a fresh gateway is empty. */
  function listOnce(server: string): Promise<void> {
    const { servers } = gateway.services;
    const isOwn = servers?.status(server) !== undefined;
    const listing =
      listed.get(server) ?? (isOwn ? servers.refresh(server).catch(() => {}) : Promise.resolve());
    listed.set(server, listing);
    return listing;
  }
}

/** Whether a server is in the config or was approved. */
function isApproved({ services }: Gateway, server: string): boolean {
  return services.servers?.status(server)?.status !== "needs-approval";
}

/** Whether a tool may be called only to see its output. */
export function isHarmless(tool: Tool): boolean {
  return tool.enabled && !tool.builtin && (tool.policy ?? inferPolicy(tool)).riskLevel === "low";
}

/** Returns the output schema of a tool: the declared one, or one inferred from a result. */
export async function introspectOutput(
  gateway: Gateway,
  tool: Tool,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  if (tool.outputSchema) return tool.outputSchema;
  if (!isHarmless(tool)) return undefined;
  const args = await createExample(tool.inputSchema);
  if (!isJsonObject(args)) return undefined;
  const settled = await gateway.run({ tool: tool.id, args, ...(signal && { signal }) });
  const answer = settled.ok ? toData(settled.result) : undefined;
  return answer === undefined ? undefined : inferSchema(answer);
}

/** Extracts the data of a result; undefined if its text is not JSON. */
function toData({ structuredContent, content, isError, resultType }: ToolResult): unknown {
  if (isError || resultType === "input_required") return undefined;
  if (isData(structuredContent)) return structuredContent;
  const [only, ...more] = content;
  const text = only?.type === "text" && more.length === 0 ? only["text"] : undefined;
  if (typeof text !== "string" || text.length > MAX_CHARACTERS) return undefined;
  const data = parseJson(text);
  return isData(data) ? data : undefined;
}

function isData(value: unknown): boolean {
  return isJsonObject(value) || Array.isArray(value);
}

/** Limits: deeper levels and further keys or elements are ignored. */
const MAX_DEPTH = 16;
const MAX_KEYS = 100;
const MAX_ELEMENTS = 1_000;

type Kind = "null" | "boolean" | "integer" | "number" | "string" | "array" | "object";

/** Common shape of some values. */
interface Shape {
  readonly kinds: Set<Kind>;
  /** Number of objects among them, and the shapes of their keys. */
  objects: number;
  readonly keys: Map<string, { times: number; readonly shape: Shape }>;
  /** Shape of the elements of lists. */
  items: Shape | undefined;
  /** Whether an object had so many keys that the keys are data. */
  isMap: boolean;
}

/**
 * Infers a JSON Schema that a value and similar ones fit: the elements of a list share one schema, and a key that
 * some of them lack is optional.
 */
export function inferSchema(value: unknown): JsonObject {
  const shape = createShape();
  addValue(shape, value, 0);
  return toSchema(shape);
}

function createShape(): Shape {
  return { kinds: new Set(), objects: 0, keys: new Map(), items: undefined, isMap: false };
}

function addValue(shape: Shape, value: unknown, depth: number): void {
  const kind = toKind(value);
  if (kind === undefined) return;
  shape.kinds.add(kind);
  if (depth >= MAX_DEPTH) return;
  if (Array.isArray(value)) {
    shape.items ??= createShape();
    for (const element of value.slice(0, MAX_ELEMENTS)) addValue(shape.items, element, depth + 1);
  } else if (isJsonObject(value)) {
    shape.objects++;
    const entries = Object.entries(value);
    if (entries.length > MAX_KEYS) shape.isMap = true;
    for (const [key, inner] of entries.slice(0, MAX_KEYS)) {
      const known = shape.keys.get(key) ?? { times: 0, shape: createShape() };
      known.times++;
      shape.keys.set(key, known);
      addValue(known.shape, inner, depth + 1);
    }
    if (shape.keys.size > MAX_KEYS) shape.isMap = true;
  }
}

function toKind(value: unknown): Kind | undefined {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  if (typeof value === "string" || typeof value === "boolean") return typeof value as "string" | "boolean";
  return typeof value === "object" ? "object" : undefined;
}

const ORDER: readonly Kind[] = ["object", "array", "string", "integer", "number", "boolean", "null"];

function toSchema({ kinds, objects, keys, items, isMap }: Shape): JsonObject {
  // Every integer is a number.
  const types = ORDER.filter((kind) => kinds.has(kind) && !(kind === "integer" && kinds.has("number")));
  if (types.length === 0) return {};
  const element = items && toSchema(items);
  return {
    type: types.length === 1 ? types[0] : types,
    ...(kinds.has("object") && !isMap && objects > 0 && toProperties(keys, objects)),
    ...(element && Object.keys(element).length > 0 && { items: element }),
  };
}

function toProperties(keys: Shape["keys"], objects: number): JsonObject {
  if (keys.size === 0) return {};
  const required = [...keys].filter(([, { times }]) => times === objects).map(([key]) => key);
  return {
    properties: Object.fromEntries([...keys].map(([key, { shape }]) => [key, toSchema(shape)])),
    ...(required.length > 0 && { required }),
  };
}
