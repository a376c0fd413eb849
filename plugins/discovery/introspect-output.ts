import {
  type Gateway,
  isJsonObject,
  type JsonObject,
  type Tool,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import { definitionHash } from "../lib/hash.ts";
import { inferPolicy } from "../lib/risk.ts";
import { exampleOf } from "../lib/schema/example.ts";
import type { IntrospectContext, IntrospectOutput } from "./enrich.ts";
import { inferSchema } from "./infer-schema.ts";

/** Longer answers are not parsed: such an answer is data, and the shape of less is enough. */
const MAX_CHARACTERS = 1_000_000;

/** Finds out what a tool answers, without a session of its own. */
export type OutputIntrospection = (
  tool: ToolDefinition,
  context: Pick<IntrospectContext, "config" | "signal">,
) => ReturnType<IntrospectOutput>;

/**
 * Finds out what tools answer by calling each of them once, with made-up arguments. Only those are called that
 * cannot do harm as far as their policy says; a call runs through the pipeline of the gateway, so it is checked
 * and audited as any other, and a tool that is not in its catalog is not called. What fails leaves no schema.
 */
export function outputIntrospection(gateway: Gateway): OutputIntrospection {
  const known = new Map<string, Promise<JsonObject | undefined>>();
  return (definition, { config, signal }) => {
    const tool = gateway.catalog.tool(`${config.name}:${definition.name}`);
    if (!tool || definitionHash(tool) !== definitionHash(definition)) return Promise.resolve(undefined);
    const key = `${tool.id} ${definitionHash(tool)}`;
    const found = known.get(key) ?? introspectOutput(gateway, tool, signal).catch(() => undefined);
    // What failed is remembered too: no tool is called twice for this.
    known.set(key, found);
    return found;
  };
}

/** Whether a tool may be called only to see what it answers. */
export function isHarmless(tool: Tool): boolean {
  return tool.enabled && !tool.builtin && (tool.policy ?? inferPolicy(tool)).riskLevel === "low";
}

/** The schema of what one tool answers: the one it declares, or one from an answer. */
export async function introspectOutput(
  gateway: Gateway,
  tool: Tool,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  if (tool.outputSchema) return tool.outputSchema;
  if (!isHarmless(tool)) return undefined;
  const args = await exampleOf(tool.inputSchema);
  if (!isJsonObject(args)) return undefined;
  const settled = await gateway.run({ tool: tool.id, args, ...(signal && { signal }) });
  const answer = settled.ok ? toData(settled.result) : undefined;
  return answer === undefined ? undefined : inferSchema(answer);
}

/** The data in a result. A text that is none says nothing of a schema. */
function toData({ structuredContent, content, isError, resultType }: ToolResult): unknown {
  if (isError || resultType === "input_required") return undefined;
  if (isData(structuredContent)) return structuredContent;
  const [only, ...more] = content;
  const text = only?.type === "text" && more.length === 0 ? only["text"] : undefined;
  if (typeof text !== "string" || text.length > MAX_CHARACTERS) return undefined;
  try {
    const data: unknown = JSON.parse(text);
    return isData(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

function isData(value: unknown): boolean {
  return isJsonObject(value) || Array.isArray(value);
}
