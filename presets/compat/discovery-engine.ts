import type { Gateway } from "../../core/mod.ts";
import type { Connection } from "../../core/services/sources.ts";
import { cache as cachePlugin } from "../../plugins/cache/mod.ts";
import type { ServerMetadata } from "../../plugins/lib/servers.ts";
import { rules as rulesPlugin } from "../../plugins/rules/mod.ts";
import { type StdioStreams, serveStdio } from "../../plugins/serve/mod.ts";
import { type SourcesOptions, sources as sourcesPlugin } from "../../plugins/sources/mod.ts";
import { parseDiscoveryConfig, refreshAll, toGatewayConfig } from "../anygpt/discovery-engine.ts";
import {
  createDiscoveryEngine,
  createEngine,
  type Engine,
  type ExecuteOptions,
  type ExecutionEvent,
} from "../anygpt/mod.ts";
import { toDiscoveryError } from "./errors.ts";
import { compileToolRules } from "./patterns.ts";
import { SearchEngine } from "./search-engine.ts";
import type {
  CompatConfig,
  CompatExecutionResult,
  CompatSearchOptions,
  CompatSearchResult,
  CompatServerMetadata,
  CompatToolMetadata,
  CompatToolRule,
  MCPServerConfig,
} from "./types.ts";

/** An open gateway. */
interface Opened {
  readonly gateway: Gateway;
  reload(): Promise<void>;
  close(): Promise<void>;
}

/** Rules with the way conflicts are settled, which the config of the gateway may have in place of a list. */
interface RuleList {
  readonly rules?: readonly CompatToolRule[];
}

/** Checks a config. Throws a `ConfigurationError` that says what is wrong. */
export function checkDiscoveryConfig(config: CompatConfig): Required<CompatConfig> {
  try {
    const checked = parseDiscoveryConfig(config) as unknown as Required<CompatConfig>;
    const { cache, sources, servers, toolRules } = checked;
    // Plugins check their options when they are created.
    cachePlugin({ ...cache });
    sourcesPlugin({ sources, servers } as SourcesOptions);
    rulesPlugin({ toolRules });
    compileToolRules(Array.isArray(toolRules) ? toolRules : ((toolRules as RuleList).rules ?? []));
    return checked;
  } catch (thrown) {
    throw toDiscoveryError(thrown);
  }
}

/**
 * The engine of the specification, as a class. It connects to servers when the first method is called.
 *
 * @example
 * ```ts
 * import { DiscoveryEngine } from "toolpipe/anygpt";
 *
 * const engine = new DiscoveryEngine({ enabled: true, servers: [] });
 * console.log(await engine.searchTools("read a file"));
 * await engine.close();
 * ```
 */
export class CompatEngine {
  readonly #config: Required<CompatConfig>;
  #opening: Promise<Opened> | undefined;
  #listedAfter = 0;

  /** Throws a `ConfigurationError` if the config cannot be used. */
  constructor(config: CompatConfig) {
    this.#config = checkDiscoveryConfig(config);
  }

  async listServers(): Promise<CompatServerMetadata[]> {
    return (await (await this.#engine()).listServers()).map(toCompatServer);
  }

  async searchTools(query: string, options: CompatSearchOptions = {}): Promise<CompatSearchResult[]> {
    const { includeDisabled, ...rest } = options;
    const engine = await this.#engine();
    const results = await engine.searchTools(query, rest);
    const found = results.map((result) => ({ ...result, tags: [...result.tags] }));
    return includeDisabled ? this.#addDisabled(engine, found, query, rest) : found;
  }

  async listTools(server: string, includeDisabled = false): Promise<CompatToolMetadata[]> {
    const tools = await (await this.#engine()).listTools(server, includeDisabled);
    return tools.map((tool) => ({ ...tool, tags: [...tool.tags] }) as CompatToolMetadata);
  }

  /** Returns null if there is no such tool. */
  async getToolDetails(server: string, tool: string): Promise<CompatToolMetadata | null> {
    const details = await (await this.#engine()).getToolDetails(server, tool, { examples: true });
    return details && ({ ...details, tags: [...details.tags] } as CompatToolMetadata);
  }

  /** Executes a tool. A failure is in the outcome. */
  async executeTool(
    server: string,
    tool: string,
    // biome-ignore lint/suspicious/noExplicitAny: the type of the specification
    args: any,
    options?: ExecuteOptions,
  ): Promise<CompatExecutionResult> {
    return (await this.#engine()).executeTool(server, tool, args, options);
  }

  /** Executes a tool and yields its progress, and at last the outcome. */
  async *executeStream(
    server: string,
    tool: string,
    // biome-ignore lint/suspicious/noExplicitAny: the type of the specification
    args: any,
  ): AsyncGenerator<ExecutionEvent, undefined, undefined> {
    yield* (await this.#engine()).executeStream(server, tool, args);
  }

  /** Opens everything anew, and asks every server for its tools again. If that fails it rejects, and the old servers stay. */
  async reload(): Promise<void> {
    await (await this.#open()).reload().catch((thrown) => {
      throw toDiscoveryError(thrown);
    });
    this.#listedAfter = Date.now();
  }

  getConfig(): CompatConfig {
    return structuredClone(this.#config);
  }

  /** Waits for running calls, and closes every server. A later call opens them again. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    await (await opening?.catch(() => undefined))?.close();
  }

  /** Serves the five tools over standard input and output from now on. Resolves when the server is up. */
  async serve(streams?: StdioStreams): Promise<{ readonly ended: Promise<void> }> {
    await this.close();
    const config = toGatewayConfig(parseDiscoveryConfig(this.#config));
    const serving = serveStdio(config, streams);
    this.#opening = serving.then((served) => ({
      get gateway() {
        return served.gateway;
      },
      async reload() {
        await served.reload(config);
        refreshAll(served.gateway);
      },
      close: () => served.close(),
    }));
    this.#opening.catch(() => {});
    return { ended: (await serving).ended };
  }

  async #engine(): Promise<Engine> {
    return createEngine((await this.#open()).gateway, { listedAfter: this.#listedAfter });
  }

  #open(): Promise<Opened> {
    this.#opening ??= createDiscoveryEngine(parseDiscoveryConfig(this.#config)).catch((thrown) => {
      this.#opening = undefined;
      throw toDiscoveryError(thrown);
    });
    return this.#opening;
  }

  /** Adds disabled tools, which the search does not have, by their relevance. */
  async #addDisabled(
    engine: Engine,
    found: CompatSearchResult[],
    query: string,
    { server, limit }: CompatSearchOptions,
  ): Promise<CompatSearchResult[]> {
    const names = server === undefined ? (await engine.listServers()).map(({ name }) => name) : [server];
    const lists = await Promise.all(names.map((name) => this.listTools(name, true)));
    const searcher = new SearchEngine();
    searcher.index(lists.flat().filter(({ enabled }) => !enabled));
    const disabled = searcher.search(query, { server, limit, includeDisabled: true });
    return [...found, ...disabled].sort((a, b) => b.relevance - a.relevance).slice(0, limit || 10);
  }
}

function toCompatServer(row: ServerMetadata): CompatServerMetadata {
  const { status } = row;
  const known = status === "connected" || status === "disconnected" ? status : "error";
  const config = toCompatConnection(row.config);
  return Object.defineProperty({ ...row, status: known, config }, "config", { enumerable: false });
}

function toCompatConnection(connection: Connection | undefined): MCPServerConfig {
  if (connection?.type !== "stdio")
    return { command: "", args: [], ...(connection && { url: connection.url }) };
  const { command, args, env } = connection;
  return { command, args: [...args], env: { ...env } };
}
