import type { GatewayError, JsonObject, ToolDefinition } from "../../core/mod.ts";
import type { CapabilityManifest } from "../../core/services/emitter.ts";
import type { ServerConfig } from "../../core/services/sources.ts";

/** A discovered tool, with its types, domains and categories. */
export interface DiscoveredTool extends ToolDefinition {
  /** Type of its input, in the language of the type emitter. */
  readonly inputType: string;
  /** Type of its output, if that is known. */
  readonly outputType?: string | undefined;
  /** Subjects of the tool, such as `github` and `github.issues`. */
  readonly domains: readonly string[];
  /** Actions of the tool, such as `crud.read`. */
  readonly categories: readonly string[];
}

/** A discovered server. */
export interface DiscoveredServer {
  readonly config: ServerConfig;
  readonly tools: readonly DiscoveredTool[];
  readonly resources: readonly JsonObject[];
  readonly resourceTemplates: readonly JsonObject[];
  /** Whether the tools were cached, so that the server was not asked. */
  readonly fromCache: boolean;
  /** Failures that did not end the discovery. */
  readonly warnings: readonly GatewayError[];
}

/** A server that could not be asked, or a registry. */
export interface DiscoveryFailure {
  /** Name of the server, or address of the registry. */
  readonly server: string;
  /** Absent if the server has no usable definition. */
  readonly config?: ServerConfig | undefined;
  readonly error: GatewayError;
}

/**
 * Outcome of the discovery of several servers, in the given order. Iterating over it gives each server with its tools,
 * as a pair.
 */
export interface DiscoveryOutcome extends Iterable<readonly [ServerConfig, readonly DiscoveredTool[]]> {
  readonly servers: readonly DiscoveredServer[];
  readonly failures: readonly DiscoveryFailure[];
  /** Number of matches of a registry that were left out; the option `allMatches` takes them too. */
  readonly leftOut?: number | undefined;
}

/** Makes the outcome of a discovery iterable. */
export function toOutcome(parts: Omit<DiscoveryOutcome, typeof Symbol.iterator>): DiscoveryOutcome {
  // Hidden, so that the outcome prints and compares as what was found.
  return Object.defineProperty({ ...parts }, Symbol.iterator, {
    *value() {
      for (const { config, tools } of parts.servers) yield [config, tools];
    },
  }) as DiscoveryOutcome;
}

/** Outcome of a registration: `pending` if the tools wait for approval. */
export type Registration = "registered" | "pending" | "skipped";

/** A tool as a capability that can be registered and exported. */
export interface NamedCapability extends CapabilityManifest {
  /** Name of the tool at its server. */
  readonly name: string;
}

/** The steps of the discovery of one server, in order (spec 004, 4.1). */
export const discoverySteps = [
  "cache",
  "rate-limit",
  "session",
  "tools",
  "schemas",
  "outputs",
  "domains",
  "store",
  "registration",
  "termination",
] as const;

/** Name of a step. */
export type DiscoveryStepName = (typeof discoverySteps)[number];

/** A finished step. */
export interface DiscoveryStep {
  /** Name of the server. */
  readonly server: string;
  readonly name: DiscoveryStepName;
  /** Position among the steps, from 1. */
  readonly number: number;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /**
   * `hit` if the tools were cached, `skipped` if the step did nothing: the options do not ask for it, or the tools were
   * cached. `pending` if the tools wait for approval.
   */
  readonly outcome: "done" | "hit" | "skipped" | "failed" | "pending";
}
