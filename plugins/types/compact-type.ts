import { outlineOf } from "./_outline.ts";
import { type Detail, render } from "./_render.ts";

/** The options of {@link compactType}. */
export interface CompactTypeOptions {
  /** The schema that references lead into; the schema itself by default. */
  readonly root?: unknown;
  /** Characters; 300 by default. A longer type is shown in less detail. */
  readonly maxLength?: number | undefined;
}

/** Below this there is no room for the kinds of things that a schema may allow. */
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
 * schema; one that says nothing is `unknown`. What does not fit is named by its kind, or counted.
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
  const outline = outlineOf(schema, root);
  return outline.length <= maxLength ? outline : "unknown";
}
