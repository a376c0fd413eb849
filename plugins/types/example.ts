import { isJsonObject } from "../../core/mod.ts";
import { copySchema } from "../_schema-copy.ts";
import { type SampleStyle, sampleOf } from "./_sample.ts";
import type { PatternCheck } from "./_text-sample.ts";

const STYLES: readonly SampleStyle[] = [
  { optional: true, defaults: true },
  { optional: false, defaults: true },
  { optional: false, defaults: false },
];

/**
 * A value that a schema allows: its author's example or default where there is one, else one made up. Nothing
 * where none was found that the schema accepts.
 *
 * @example
 * ```ts
 * import { exampleOf } from "toolpipe/plugins/types";
 *
 * await exampleOf({ type: "object", properties: { repo: { type: "string", examples: ["owner/repo"] } } }); // { repo: "owner/repo" }
 * ```
 */
export async function exampleOf(schema: unknown): Promise<unknown> {
  if (!isJsonObject(schema)) return;
  const matches = await patternCheck(schema);
  try {
    const copy = copySchema(schema);
    for (const style of STYLES) {
      const value = sampleOf(schema, style, matches);
      if (value !== undefined && copy.check(value).valid) return value;
    }
  } catch {
    // Too complex, or no schema at all: a server may offer anything.
  }
}

/** Patterns are a stranger's, so the engine must be one that none of them can stall. It is loaded where one is met. */
async function patternCheck(schema: object): Promise<PatternCheck> {
  if (!JSON.stringify(schema).includes('"pattern"')) return () => true;
  const { RE2JS } = await import("re2js");
  return (pattern, text) => {
    try {
      return RE2JS.compile(RE2JS.translateRegExp(pattern)).test(text);
    } catch {
      // It looks ahead or back, which such an engine does not.
      return undefined;
    }
  };
}
