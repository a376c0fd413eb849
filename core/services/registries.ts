import type { GatewayError } from "../errors.ts";
import type { JsonObject } from "../tool.ts";

/** Status of a version of a server. */
export type RegistryStatus = "active" | "deprecated" | "deleted";

/** One version of a server, as a registry lists it. Strings are one line each, without control characters. */
export interface RegistryEntry {
  /** Such as `io.github.owner/name`. */
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly status: RegistryStatus;
  readonly statusMessage?: string | undefined;
  readonly isLatest: boolean;
  /** RFC 3339, if it is known. */
  readonly publishedAt?: string | undefined;
  readonly updatedAt?: string | undefined;
  readonly repository?: string | undefined;
  readonly websiteUrl?: string | undefined;
  /** The base URL of its registry. */
  readonly registry: string;
  /** The `server.json` itself, unchanged and not trusted. */
  readonly server: JsonObject;
}

/** Result of a search in registries. */
export interface RegistryResult {
  readonly entries: readonly RegistryEntry[];
  /** Number of further matches that the limit left out. */
  readonly leftOut?: number | undefined;
  /** Errors of registries that could not be asked. */
  readonly troubles: readonly GatewayError[];
}

/** Searches MCP registries. Provided by the plugin `registries`. */
export interface Registries {
  /** Finds servers by what they do, best first. Rejects only if no registry could be asked. */
  search(
    query: string,
    options?: {
      /** Most entries; 20 by default. */
      readonly limit?: number | undefined;
      /** Whether the copy on this machine and cached results may be used; true by default. */
      readonly useCache?: boolean | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<RegistryResult>;
}
