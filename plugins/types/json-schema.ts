import type { JsonObject } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { normalForm } from "./normal-form.ts";

/** Options of {@link normalizeSchema}. */
export interface NormalizeOptions {
  /** Whether titles, descriptions, defaults and examples stay; true by default. */
  readonly annotations?: boolean | undefined;
}

/**
 * Normalizes a JSON Schema of any draft to draft 2020-12: keys are sorted, referenced schemas are in `$defs`, and
 * keywords without effect are removed. Any value is accepted as a schema. A reference to another document allows
 * everything: no document is ever fetched.
 *
 * @example
 * ```ts
 * import { normalizeSchema } from "toolpipe/plugins/types";
 *
 * normalizeSchema({ type: ["string"], nullable: true, minLength: 0 }); // { type: ["null", "string"] }
 * ```
 */
export function normalizeSchema(schema: unknown, { annotations = true }: NormalizeOptions = {}): JsonObject {
  return normalForm(schema, { annotations, sorted: true });
}

/** Writes normalized JSON Schemas. */
export const jsonSchema: TypeEmitter = {
  name: "json",
  extension: ".json",
  type: (schema) => JSON.stringify(normalizeSchema(schema), null, 2),
  declaration({ id, version, description, inputSchema, outputSchema, provider, domains, categories }) {
    const { type, serverUrl, command, toolName } = provider;
    const capability = {
      id,
      version,
      description,
      inputSchema: normalizeSchema(inputSchema),
      ...(outputSchema === undefined ? {} : { outputSchema: normalizeSchema(outputSchema) }),
      provider: { type, serverUrl, command, toolName },
      domains,
      categories,
    };
    return `${JSON.stringify(capability, null, 2)}\n`;
  },
};
