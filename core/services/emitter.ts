import type { JsonObject } from "../mod.ts";

/**
 * Writes JSON Schemas as types of another language. Schemas are untrusted and may be any value: an emitter never
 * throws, and returns the same string for the same schema.
 *
 * @example
 * ```ts
 * import type { TypeEmitter } from "toolpipe/services";
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
  /** Name in configs and commands, such as `typescript`. */
  readonly name: string;
  /** Extension of its files, such as `.ts`. */
  readonly extension: string;
  /** Returns the type that a schema describes. */
  type(schema: unknown): string;
  /** Returns the content of the file of one tool. */
  declaration(tool: CapabilityManifest): string;
}

/** Provider of a capability. */
export interface CapabilityProvider {
  /** Its protocol: `mcp`, `openapi`. */
  readonly type: string;
  /** URL of its server, for a remote one. */
  readonly serverUrl?: string | undefined;
  /** Command and arguments of its server, for a local one. */
  readonly command?: readonly string[] | undefined;
  /** Name of the tool on its server. */
  readonly toolName: string;
}

/** Exported form of a tool: its input, its output and its provider. */
export interface CapabilityManifest {
  /** Unique name, such as `mcp.github.list_issues`. */
  readonly id: string;
  readonly version: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly provider: CapabilityProvider;
  /** Domains, such as `github` and `github.issues`. */
  readonly domains: readonly string[];
  /** Categories, such as `crud.read`. */
  readonly categories: readonly string[];
}
