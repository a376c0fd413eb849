import { isJsonObject } from "../../core/mod.ts";
import { compactType } from "../../plugins/lib/schema/signature.ts";

/** The type of a parameter: that of its schema, in the words of TypeScript where it is more than a word. */
export function parameterType(schema: unknown, root: unknown, maxLength: number): string {
  const type = compactType(schema, { root, maxLength });
  // TypeScript has no whole numbers, and an agent had better know.
  return type === "number" && isJsonObject(schema) && schema["type"] === "integer" ? "integer" : type;
}
