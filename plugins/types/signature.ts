import type { ToolDefinition } from "../../core/mod.ts";
import { propertyName } from "./_literals.ts";
import { type Property, propertiesOf } from "./_schema.ts";
import { compactType } from "./compact-type.ts";

/** The options of {@link signature}. */
export interface SignatureOptions {
  /** Characters, without the name of the tool; 400 by default. What does not fit is shown in less detail, or counted. */
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
  const properties = propertiesOf(inputSchema);
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

/** A schema without properties may still say what it takes: a choice of objects, say. */
function wholeArguments(inputSchema: unknown, maxLength: number): string {
  const type = compactType(inputSchema, { maxLength });
  return ["object", "unknown", "{}"].includes(type) ? "" : `args: ${type}`;
}

function parameterText({ name, required, schema }: Property, root: unknown, maxLength: number): string {
  return `${propertyName(name)}${required ? "" : "?"}: ${compactType(schema, { root, maxLength })}`;
}
