import type { GatewayError, JsonObject, ToolDefinition } from "../../core/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import type { CapabilityManifest as ExportedManifest } from "../types/manifest.ts";

/** A tool as it was found, with what was made out about it. */
export interface DiscoveredTool extends ToolDefinition {
  /** The type of its input in the words of the type emitter. */
  readonly inputType: string;
  /** The type of its output; absent where nothing is known of it. */
  readonly outputType?: string | undefined;
  /** What it is about, such as `github` and `github.issues`. */
  readonly domains: readonly string[];
  /** What it does, such as `crud.read`. */
  readonly categories: readonly string[];
}

/** A server with what it offers. */
export interface DiscoveredServer {
  readonly config: ServerConfig;
  readonly tools: readonly DiscoveredTool[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  /** Whether it was remembered, and nobody was asked. */
  readonly fromCache: boolean;
  /** What went wrong and was made do without. */
  readonly warnings: readonly GatewayError[];
}

/** A server that could not be asked, or a registry. */
export interface DiscoveryFailure {
  /** The name of the server; the address of the registry. */
  readonly server: string;
  /** Absent where no definition came about. */
  readonly config?: ServerConfig | undefined;
  readonly error: GatewayError;
}

/** What came of asking several servers, each in the order they were given. */
export interface DiscoveryOutcome {
  readonly servers: readonly DiscoveredServer[];
  readonly failures: readonly DiscoveryFailure[];
}

/** A tool as a capability that can be registered and exported. */
export interface CapabilityManifest extends ExportedManifest {
  /** What the server calls it. */
  readonly name: string;
}
