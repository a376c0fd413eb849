import type { ExecutionError } from "../../plugins/lib/jsonrpc.ts";

/** How long lists are cached. */
export interface CacheConfig {
  enabled: boolean;
  /** Seconds. */
  ttl: number;
}

/** A file that servers are imported from. */
export interface ConfigSource {
  type: string;
  path?: string;
}

/** A server in a config. */
export interface ServerEntry {
  name: string;
  [key: string]: unknown;
}

/** A rule that enables, disables and tags tools. */
export interface CompatToolRule {
  pattern: string[];
  server?: string;
  enabled?: boolean;
  tags?: string[];
}

/** The config of the engine. */
export interface CompatConfig {
  enabled: boolean;
  cache?: CacheConfig;
  sources?: ConfigSource[];
  servers?: ServerEntry[];
  toolRules?: CompatToolRule[];
}

/** Outcome of a check of a config. */
export interface ValidationResult {
  valid: boolean;
  /** Faults, a sentence each. */
  errors: string[];
}

/** A parameter of a tool. */
export interface CompatToolParameter {
  name: string;
  type: string;
  description: string;
  required: boolean;
}

/** Example arguments of a tool. */
export interface CompatToolExample {
  description: string;
  parameters: Record<string, unknown>;
}

/** A tool. Parameters and examples are part of its details only. */
export interface CompatToolMetadata {
  server: string;
  name: string;
  summary: string;
  description?: string;
  parameters?: CompatToolParameter[];
  examples?: CompatToolExample[];
  enabled: boolean;
  tags: string[];
}

/** A tool that fits a query. */
export interface CompatSearchResult {
  server: string;
  tool: string;
  summary: string;
  relevance: number;
  tags: string[];
}

/** Limits of a search. */
export interface CompatSearchOptions {
  server?: string | undefined;
  /** 10 by default, and for 0. */
  limit?: number | undefined;
  includeDisabled?: boolean | undefined;
}

/** How a server is started. */
export interface MCPServerConfig {
  /** Empty for a server at a URL. */
  command: string;
  args: string[];
  env?: Record<string, string>;
  url?: string;
}

/** A server with its status. */
export interface CompatServerMetadata {
  name: string;
  description: string;
  toolCount: number;
  enabledCount: number;
  status: "connected" | "disconnected" | "error";
  /** Why the server cannot be used. */
  reason?: string;
  /** May hold secrets, so it is not enumerable: JSON and copies leave it out. */
  config: MCPServerConfig;
}

/** Outcome of an execution. */
export interface CompatExecutionResult {
  success: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the type of the specification; a tool may return anything
  result?: any;
  error?: ExecutionError;
}
