import type { ToolDefinition } from "../../../core/mod.ts";
import { type Detail, propertyName, render, renderOutline } from "./render.ts";
import { listSchemaProperties, type Property } from "./schema.ts";

/** Options for {@link signature}. */
export interface SignatureOptions {
  /** Characters without the name of the tool; 400 by default. Parameters that do not fit lose detail, or are counted. */
  readonly maxLength?: number | undefined;
}

const TYPE_LENGTHS = [300, 160, 100, 60];

/**
 * How a tool is called, in one line: its name, and its parameters with their types, required ones first.
 *
 * @example
 * ```ts
 * import { signature } from "toolpipe/plugins/types";
 *
 * signature({
 *   name: "create_issue",
 *   inputSchema: { properties: { title: { type: "string" }, body: { type: "string" } }, required: ["title"] },
 * }); // create_issue(title: string, body?: string)
 * ```
 */
export function signature(
  { name, inputSchema }: Pick<ToolDefinition, "name" | "inputSchema">,
  { maxLength = 400 }: SignatureOptions = {},
): string {
  const properties = listSchemaProperties(inputSchema);
  if (properties.length === 0) return `${name}(${wholeArguments(inputSchema, maxLength)})`;
  const parameters = properties.toSorted((a, b) => Number(b.required) - Number(a.required));
  let texts: string[] = [];
  for (const length of TYPE_LENGTHS) {
    texts = parameters.map((parameter) => parameterText(parameter, inputSchema, length));
    if (texts.join(", ").length <= maxLength) return `${name}(${texts.join(", ")})`;
  }
  let shown = 0;
  for (let room = maxLength - "/* 999 more */".length; shown < texts.length; shown++) {
    room -= (texts[shown]?.length ?? 0) + 2;
    if (room < 0) break;
  }
  return `${name}(${[...texts.slice(0, shown), `/* ${texts.length - shown} more */`].join(", ")})`;
}

/** A schema without properties may still describe its arguments, such as a choice of objects. */
function wholeArguments(inputSchema: unknown, maxLength: number): string {
  const type = compactType(inputSchema, { maxLength });
  return ["object", "unknown", "{}"].includes(type) ? "" : `args: ${type}`;
}

function parameterText({ name, required, schema }: Property, root: unknown, maxLength: number): string {
  return `${propertyName(name)}${required ? "" : "?"}: ${compactType(schema, { root, maxLength })}`;
}

/** Options for {@link compactType}. */
export interface CompactTypeOptions {
  /** Schema that references lead into; the schema itself by default. */
  readonly root?: unknown;
  /** Characters; 300 by default. A longer type loses detail. */
  readonly maxLength?: number | undefined;
}

/** Shorter limits leave no room for the kinds of a union. */
const SHORTEST = 60;

const DETAILS: readonly Detail[] = [
  { depth: 8, items: 100 },
  { depth: 5, items: 30 },
  { depth: 4, items: 16 },
  { depth: 3, items: 12 },
  { depth: 2, items: 12 },
  { depth: 1, items: 12 },
  { depth: 1, items: 6 },
  { depth: 1, items: 3 },
  { depth: 0, items: 3 },
  { depth: 0, items: 1 },
];

/**
 * A JSON Schema as a TypeScript type in one line, for a reader that knows TypeScript. Any value is taken for a
 * schema; an empty one is `unknown`. Parts that do not fit are named by their kind, or counted.
 *
 * @example
 * ```ts
 * import { compactType } from "toolpipe/plugins/types";
 *
 * compactType({ type: "array", items: { enum: ["open", "closed"] } }); // ('open' | 'closed')[]
 * ```
 */
export function compactType(schema: unknown, options: CompactTypeOptions = {}): string {
  const { root = schema } = options;
  const maxLength = Math.max(SHORTEST, options.maxLength ?? 300);
  for (const detail of DETAILS) {
    const type = render(schema, root, detail, maxLength);
    if (type !== undefined) return type;
  }
  const outline = renderOutline(schema, root);
  return outline.length <= maxLength ? outline : "unknown";
}
