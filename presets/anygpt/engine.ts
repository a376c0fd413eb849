import type { Actor, CallRequest, Gateway, JsonObject, Progress, ToolResult } from "../../core/mod.ts";
import { GatewayError } from "../../core/mod.ts";
import { findTool, type ServerMetadata, serversOf, toolsOf } from "../../plugins/lib/servers.ts";
import { summaryOf } from "../../plugins/lib/text/shorten.ts";
import { searchOf } from "../_answers.ts";
import { answersOf } from "./answers.ts";
import { type ToolExample, type ToolParameter, toolExamples, toolParameters } from "./details.ts";
import { runTarget } from "./execute.ts";
import { type ExecutionError, executionError, toolError } from "./failure.ts";
import type { SearchResult } from "./pack.ts";
import { firstListing, learnOf } from "./servers.ts";
import { eventsOf } from "./stream.ts";

/** What a search is narrowed to. */
export interface SearchOptions {
  readonly server?: string | undefined;
  /** At most this many; 10 by default. */
  readonly limit?: number | undefined;
}

/** A tool, as the specification lists it; parameters and examples are there where details were asked for. */
export interface ToolMetadata {
  readonly server: string;
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ToolParameter[];
  readonly examples?: readonly ToolExample[];
  readonly enabled: boolean;
  readonly tags: readonly string[];
}

/** How an execution went. A tool that failed by itself has its answer in `result` too. */
export interface ExecutionResult {
  readonly success: boolean;
  readonly result?: ToolResult;
  readonly error?: ExecutionError;
}

/** What an execution yields: progress as it comes, and at last how it went. */
export type ExecutionEvent =
  | ({ readonly type: "progress" } & Progress)
  | ({ readonly type: "result" } & ExecutionResult);

/** What else can be said of an execution. */
export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly actor?: Actor;
  readonly meta?: Readonly<JsonObject>;
}

/** What can be asked of the servers behind a gateway, in the terms of the specification. */
export interface Engine {
  listServers(): Promise<ServerMetadata[]>;
  /** The enabled tools that fit, best first. */
  searchTools(query: string, options?: SearchOptions): Promise<SearchResult[]>;
  /** The enabled tools of a server, or all of them; none if there is no such server. */
  listTools(server: string, includeDisabled?: boolean): Promise<ToolMetadata[]>;
  getToolDetails(
    server: string,
    tool: string,
    options?: { readonly examples?: boolean },
  ): Promise<ToolMetadata | null>;
  /** Never rejects. */
  executeTool(
    server: string,
    tool: string,
    args: unknown,
    options?: ExecuteOptions,
  ): Promise<ExecutionResult>;
  /** The same, with progress on the way. Whoever stops reading cancels the call. */
  executeStream(
    server: string,
    tool: string,
    args: unknown,
    options?: Omit<ExecuteOptions, "onProgress">,
  ): AsyncIterableIterator<ExecutionEvent>;
}

/** The engine of the AnyGPT specification over a gateway. */
export function engineOf(gateway: Gateway): Engine {
  const { waitMs } = answersOf(gateway).options;

  const executeTool: Engine["executeTool"] = async (server, tool, args, options = {}) => {
    try {
      const request: Omit<CallRequest, "tool" | "args"> = options;
      const result = await runTarget(gateway, { server, tool, args }, request);
      if (!result.isError) return { success: true, result };
      return { success: false, error: toolError(result, server, tool), result };
    } catch (thrown) {
      return { success: false, error: executionError(GatewayError.from(thrown), server, tool) };
    }
  };

  return {
    async listServers() {
      await firstListing(gateway, waitMs);
      return serversOf(gateway);
    },
    async searchTools(query, { server, limit } = {}) {
      await firstListing(gateway, waitMs);
      const { hits } = await searchOf(gateway)(query, { server, limit });
      return hits.map(({ tool, relevance }) => ({
        server: tool.server,
        tool: tool.name,
        summary: summaryOf(tool.description),
        relevance: Math.round(relevance * 100) / 100,
        tags: tool.tags,
      }));
    },
    async listTools(server, includeDisabled = false) {
      await learnOf(gateway, server);
      return toolsOf(gateway, server).flatMap(({ name, description, enabled, tags }) =>
        enabled || includeDisabled ? [{ server, name, summary: summaryOf(description), enabled, tags }] : [],
      );
    },
    async getToolDetails(server, name, { examples = false } = {}) {
      if (!findTool(gateway, server, name)) await learnOf(gateway, server);
      const tool = findTool(gateway, server, name);
      if (!tool) return null;
      return {
        server,
        name,
        summary: summaryOf(tool.description),
        description: tool.description ?? "",
        parameters: toolParameters(tool),
        ...(examples && { examples: await toolExamples(tool) }),
        enabled: tool.enabled,
        tags: tool.tags,
      };
    },
    executeTool,
    executeStream: (server, tool, args, options) =>
      eventsOf((more) => executeTool(server, tool, args, { ...options, ...more }), options?.signal),
  };
}
