import { type Actor, type Gateway, GatewayError, type JsonObject, type Progress } from "../../core/mod.ts";
import type { Hit } from "../../core/services/search.ts";
import {
  findTool,
  listServerMetadata,
  listServerTools,
  type ServerMetadata,
} from "../../plugins/lib/servers.ts";
import { summarize } from "../../plugins/lib/text/shorten.ts";
import {
  ensureListed,
  getExpiry,
  getSearch,
  refreshOlder,
  waitForFirstListing,
} from "../shared/meta-tools.ts";
import { getAnswersSettings } from "./answers.ts";
import type { ToolExample, ToolParameter } from "./details.ts";
import type { ExecutionResult } from "./envelope.ts";
import { runTarget } from "./execute.ts";
import type { SearchResult } from "./pack.ts";

/** Progress events kept until they are read; the oldest are dropped. */
const MAX_WAITING = 100;

/** Options of {@link Engine.searchTools}. */
export interface SearchToolsOptions {
  /** Only tools of this server. */
  readonly server?: string | undefined;
  /** Maximal number of results; 10 by default, and for 0. */
  readonly limit?: number | undefined;
}

/** A tool, in the form of the specification; parameters and examples are part of its details only. */
export interface ToolMetadata {
  readonly server: string;
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly ToolParameter[];
  readonly examples?: readonly ToolExample[];
  readonly enabled: boolean;
  readonly tags: readonly string[];
  /** Why a tool that waits for approval is disabled. */
  readonly reason?: string;
}

/** Event of an execution: progress as it comes, and at last the outcome. */
export type ExecutionEvent =
  | ({ readonly type: "progress" } & Progress)
  | ({ readonly type: "result" } & ExecutionResult);

/** Options of {@link Engine.executeTool}. */
export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly actor?: Actor;
  readonly meta?: Readonly<JsonObject>;
}

/** Queries to the servers behind a gateway, in the terms of the specification. */
export interface Engine {
  listServers(): Promise<ServerMetadata[]>;
  /** Searches the enabled tools, best first. */
  searchTools(query: string, options?: SearchToolsOptions): Promise<SearchResult[]>;
  /** Lists the enabled tools of a server, or all of them; an unknown server has none. */
  listTools(server: string, includeDisabled?: boolean): Promise<ToolMetadata[]>;
  getToolDetails(
    server: string,
    tool: string,
    options?: { readonly examples?: boolean },
  ): Promise<ToolMetadata | null>;
  /** Executes a tool. Never rejects. */
  executeTool(
    server: string,
    tool: string,
    args: unknown,
    options?: ExecuteOptions,
  ): Promise<ExecutionResult>;
  /** Executes a tool and yields its progress. Ending the iteration cancels the call. */
  executeStream(
    server: string,
    tool: string,
    args: unknown,
    options?: Omit<ExecuteOptions, "onProgress">,
  ): AsyncIterableIterator<ExecutionEvent>;
}

/** Writes a hit in the form of the specification. */
export function toSearchResult({ tool, relevance }: Hit): SearchResult {
  return {
    server: tool.server,
    tool: tool.name,
    summary: summarize(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  };
}

/**
 * Creates the engine of the AnyGPT specification over a gateway. Tools of a server that was last listed before the time
 * `listedAfter` are asked for again.
 */
export function createEngine(
  gateway: Gateway,
  { listedAfter = 0 }: { readonly listedAfter?: number } = {},
): Engine {
  const { waitMs } = getAnswersSettings(gateway);

  const executeTool: Engine["executeTool"] = async (server, tool, args, options = {}) => {
    const { toExecutionResult, toFailedResult } = await import("./envelope.ts");
    try {
      const answer = await runTarget(gateway, { server, tool, args }, options);
      return toExecutionResult(answer, server, tool);
    } catch (thrown) {
      return toFailedResult(GatewayError.from(thrown), server, tool);
    }
  };

  return {
    async listServers() {
      await waitForFirstListing(gateway, waitMs);
      return listServerMetadata(gateway);
    },
    async searchTools(query, { server, limit } = {}) {
      await waitForFirstListing(gateway, waitMs);
      const { hits } = await getSearch(gateway)(query, { server, limit: limit || undefined });
      return hits.map(toSearchResult);
    },
    async listTools(server, includeDisabled = false) {
      await ensureListed(gateway, server);
      await refreshOlder(gateway, server, Math.max(listedAfter, getExpiry(gateway)), waitMs);
      return listServerTools(gateway, server).flatMap((tool) => {
        const { name, description, enabled, tags, isHeld, disabledBecause: reason } = tool;
        if (!enabled && !includeDisabled) return [];
        const held = isHeld && !enabled && reason !== undefined ? { reason } : {};
        return [{ server, name, summary: summarize(description), enabled, tags, ...held }];
      });
    },
    async getToolDetails(server, name, { examples = false } = {}) {
      await refreshOlder(gateway, server, listedAfter, waitMs);
      if (!findTool(gateway, server, name)) await ensureListed(gateway, server);
      const tool = findTool(gateway, server, name);
      if (!tool) return null;
      // Loaded with the first details: a start needs no examples and signatures.
      const { createExamples, describeParameters } = await import("./details.ts");
      return {
        server,
        name,
        summary: summarize(tool.description),
        description: tool.description ?? "",
        parameters: describeParameters(tool),
        ...(examples && { examples: await createExamples(tool) }),
        enabled: tool.enabled,
        tags: tool.tags,
      };
    },
    executeTool,
    executeStream: (server, tool, args, options) =>
      streamEvents((more) => executeTool(server, tool, args, { ...options, ...more }), options?.signal),
  };
}

/** Yields the progress of an execution as it comes, then its outcome. Ending the iteration aborts the execution. */
export async function* streamEvents(
  execute: (options: Required<Pick<ExecuteOptions, "signal" | "onProgress">>) => Promise<ExecutionResult>,
  signal?: AbortSignal,
): AsyncGenerator<ExecutionEvent, undefined, undefined> {
  const own = new AbortController();
  const waiting: Progress[] = [];
  let wake: () => void = () => {};
  let outcome: ExecutionResult | undefined;
  const done = execute({
    signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal,
    onProgress(progress) {
      waiting.push(progress);
      if (waiting.length > MAX_WAITING) waiting.shift();
      wake();
    },
  }).then((result) => {
    outcome = result;
    wake();
  });
  try {
    while (true) {
      const next = waiting.shift();
      if (next) yield { type: "progress", ...next };
      else if (outcome) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    yield { type: "result", ...outcome };
  } finally {
    own.abort();
    await done;
  }
}
