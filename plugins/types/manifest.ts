import type { JsonObject } from "../../core/mod.ts";

/** Where a capability is carried out. */
export interface CapabilityProvider {
  /** How it is reached: `mcp`, `openapi`. */
  readonly type: string;
  /** The address of its server, for one that is reached over the network. */
  readonly serverUrl?: string | undefined;
  /** The program that is its server and the arguments of that, for one that is started here. */
  readonly command?: readonly string[] | undefined;
  /** What its server calls it. */
  readonly toolName: string;
}

/** A tool as it is exported: what it takes, what it gives, and where it is found. */
export interface CapabilityManifest {
  /** Its name among all capabilities, such as `mcp.github.list_issues`. */
  readonly id: string;
  readonly version: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly provider: CapabilityProvider;
  /** What it is about, such as `github` and `github.issues`. */
  readonly domains: readonly string[];
  /** What it does, such as `crud.read`. */
  readonly categories: readonly string[];
}
