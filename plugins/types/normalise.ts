import type { JsonObject } from "../../core/mod.ts";
import type { TypeEmitter } from "../../core/services/emitter.ts";
import { normalForm } from "./normal-form.ts";

/** The options of {@link normalise}. */
export interface NormaliseOptions {
  /** Whether words for people stay: titles, descriptions, defaults, examples; true by default. */
  readonly annotations?: boolean | undefined;
}

/**
 * A JSON Schema in the one way of many to write it: the words of the draft 2020-12 whatever draft it came in, keys
 * sorted, what is referred to in `$defs`, and no word that changes nothing. Any value is taken for a schema. What
 * refers to another document allows everything: none is ever fetched.
 *
 * @example
 * ```ts
 * import { normalise } from "toolpipe/plugins/types";
 *
 * normalise({ type: ["string"], nullable: true, minLength: 0 }); // { type: ["null", "string"] }
 * ```
 */
export function normalise(schema: unknown, { annotations = true }: NormaliseOptions = {}): JsonObject {
  return normalForm(schema, { annotations, sorted: true });
}

/** Writes normalised JSON Schemas. */
export const jsonSchema: TypeEmitter = {
  name: "json",
  extension: ".json",
  type: (schema) => JSON.stringify(normalise(schema), null, 2),
  declaration({ id, version, description, inputSchema, outputSchema, provider, domains, categories }) {
    const { type, serverUrl, command, toolName } = provider;
    const capability = {
      id,
      version,
      description,
      inputSchema: normalise(inputSchema),
      ...(outputSchema === undefined ? {} : { outputSchema: normalise(outputSchema) }),
      provider: { type, serverUrl, command, toolName },
      domains,
      categories,
    };
    return `${JSON.stringify(capability, null, 2)}\n`;
  },
};
