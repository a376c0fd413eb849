import type { CapabilityManifest } from "./manifest.ts";

/**
 * Writes JSON Schemas in the words of another language. Schemas come from strangers, so any value is taken for
 * one: an emitter never throws, and gives the same text for the same schema.
 *
 * @example
 * ```ts
 * import type { TypeEmitter } from "toolpipe/plugins/types";
 *
 * const names: TypeEmitter = {
 *   name: "names",
 *   extension: ".txt",
 *   type: (schema) => Object.keys(Object(Object(schema).properties)).join(" "),
 *   declaration: ({ id, inputSchema }) => `${id}: ${names.type(inputSchema)}\n`,
 * };
 * names.type({ properties: { owner: {}, repo: {} } }); // owner repo
 * ```
 */
export interface TypeEmitter {
  /** What a user calls it, such as `typescript`. */
  readonly name: string;
  /** How the files end that it fills, such as `.ts`. */
  readonly extension: string;
  /** The type that a schema describes. */
  type(schema: unknown): string;
  /** The content of a file that tells all of one tool. */
  declaration(tool: CapabilityManifest): string;
}
