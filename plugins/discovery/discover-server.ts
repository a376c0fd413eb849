import {
  followSignal,
  GatewayError,
  getAbortReason,
  type JsonObject,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import type { Listing, RequestTurns, ServerHandle } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { type RetryTiming, retryWork, type Sleep } from "../lib/backoff.ts";
import { memoryLimiter, type RateLimiter, takeTurn } from "../lib/rate.ts";
import {
  type DiscoveredServer,
  type DiscoveredTool,
  type DiscoveryStep,
  type DiscoveryStepName,
  discoverySteps,
  type NamedCapability,
  type Registration,
} from "./discovered.ts";
import { addDomains, addOutputs, type Enriching, emitTypes } from "./enrich.ts";
import { discoveryError, isRetryable } from "./errors.ts";
import type { OpenServer } from "./open-server.ts";
import { type DiscoverySettings, parseDiscoveryOptions, type RateLimitConfig } from "./options.ts";
import type { ToolCache } from "./tool-cache.ts";

/** Dependencies of the discovery of a server. */
export interface DiscoverServerParts extends Enriching {
  readonly open: OpenServer;
  readonly acquireTurn: AcquireTurn;
  readonly waiting: RetryTiming;
  readonly cache?: ToolCache | undefined;
  /** Registers the tools of a server in the marketplace and the catalog. */
  readonly register: (
    config: ServerConfig,
    tools: readonly DiscoveredTool[],
    manifests: readonly NamedCapability[],
  ) => Promise<Registration>;
  /** Describes the tools of a server as capabilities. */
  readonly toManifests: (
    tools: readonly DiscoveredTool[],
    config: ServerConfig,
  ) => readonly NamedCapability[];
  /** Writes capabilities to files. */
  readonly exportAll?:
    | ((config: ServerConfig, manifests: readonly NamedCapability[], directory?: string) => Promise<void>)
    | undefined;
}

/** An open session with the listing that was read in it. */
interface Session {
  readonly handle: ServerHandle;
  readonly listing: Listing;
  readonly attempt: number;
}

/** Discovers one server in ten steps. Rejects with a `GatewayError` if the server cannot be listed. */
export async function discoverServer(
  config: ServerConfig,
  settings: DiscoverySettings,
  parts: DiscoverServerParts,
): Promise<DiscoveredServer> {
  const { name: server } = config;
  const { signal, useCache, refreshCache, authHeaders, rateLimit } = settings;
  const { cache, waiting } = parts;
  const warnings: GatewayError[] = [];
  const warn = (warning: GatewayError): void => void warnings.push(warning);
  if (signal?.aborted) throw getAbortReason(signal);

  const cached = useCache && !refreshCache ? await cache?.getTools(config, authHeaders) : undefined;
  report("cache", cached ? "hit" : useCache && cache ? "done" : "skipped");
  if (cached) {
    for (const name of discoverySteps.slice(1)) report(name, "skipped");
    return { config, ...cached, tools: onlyAllowed(cached.tools), fromCache: true, warnings };
  }

  const { handle, listing, attempt } = await retryWork(openAndList, {
    policy: settings.retryPolicy,
    waiting,
    // A process that exits by itself does so again; only a network connection breaks by chance.
    mayRetry: (error) => isRetryable(error) && !(config.connection.type === "stdio" && !isTimeout(error)),
    signal,
  });
  try {
    const typed = await emitTypes(listing, server, parts, warn);
    report("schemas", typed.length > 0 ? "done" : "skipped", attempt);
    const introspects = settings.introspectOutputSchemas && !settings.lazyOutputSchemas;
    const context = { config, call: callTool, signal };
    const complete = introspects ? await addOutputs(typed, context, parts, warn) : typed;
    const hasMore = complete.some(({ outputSchema }, index) => outputSchema !== typed[index]?.outputSchema);
    report("outputs", hasMore ? "done" : "skipped", attempt);
    const tools = addDomains(complete, server, parts);
    report("domains", tools.length > 0 ? "done" : "skipped", attempt);
    const { resources, resourceTemplates } = listing;
    const found = { tools, resources, resourceTemplates };
    if (useCache) await cache?.storeTools(config, found, authHeaders);
    report("store", useCache && cache ? "done" : "skipped", attempt);
    const allowed = onlyAllowed(tools);
    report("registration", await register(allowed), attempt);
    return { config, ...found, tools: allowed, fromCache: false, warnings };
  } finally {
    await handle.close();
    report("termination", handle.isShared ? "skipped" : "done", attempt);
  }

  function report(name: DiscoveryStepName, outcome: DiscoveryStep["outcome"] = "done", of = 1): void {
    const number = discoverySteps.indexOf(name) + 1;
    settings.onStep?.({ server, name, number, attempt: of, outcome });
  }

  /** Applies the tools that the definition allows. All tools are cached, since the definition may change. */
  function onlyAllowed(tools: readonly DiscoveredTool[]): readonly DiscoveredTool[] {
    const { include, exclude } = config.tools ?? {};
    return tools.filter(({ name }) => !exclude?.includes(name) && (!include || include.includes(name)));
  }

  async function openAndList(attempt: number): Promise<Session> {
    const turns = createTurns(() => parts.acquireTurn(server, rateLimit, signal));
    await turns.prepay();
    report("rate-limit", "done", attempt);
    let handle: ServerHandle | undefined;
    try {
      handle = await parts.open(config, { headers: authHeaders, signal, turns });
      report("session", handle.isShared ? "skipped" : "done", attempt);
      const listing = await handle.list(signal ? { signal } : {});
      report("tools", "done", attempt);
      return { handle, listing, attempt };
    } catch (thrown) {
      const step = handle ? "tools" : "session";
      report(step, "failed", attempt);
      await handle?.close();
      if (handle) report("termination", handle.isShared ? "skipped" : "done", attempt);
      throw discoveryError(thrown, step, server);
    }
  }

  /** Calls a tool in the session, which has the rate limit of any other request. */
  async function callTool(tool: ToolDefinition, args: JsonObject): Promise<ToolResult> {
    const { cancellation, stop } = followSignal(signal);
    return handle.call(tool.name, args, { cancellation }).finally(stop);
  }

  async function register(tools: readonly DiscoveredTool[]): Promise<DiscoveryStep["outcome"]> {
    const { registerInMarketplace, exportToRtfs, exportDirectory } = settings;
    if ((!registerInMarketplace && !exportToRtfs) || tools.length === 0) return "skipped";
    const manifests = parts.toManifests(tools, config);
    try {
      const registered = registerInMarketplace ? await parts.register(config, tools, manifests) : "skipped";
      if (exportToRtfs) {
        if (!parts.exportAll)
          throw new GatewayError(
            "CONFIG_INVALID",
            "Tools cannot be exported: the discovery service has no exporter.",
          );
        await parts.exportAll(config, manifests, exportDirectory);
      }
      if (registered === "pending") return "pending";
      return exportToRtfs || registered === "registered" ? "done" : "skipped";
    } catch (thrown) {
      // The tools were found, whether or not they can be registered.
      warn(GatewayError.from(thrown, `The tools of the server "${server}" could not be registered.`));
      return "failed";
    }
  }
}

function isTimeout({ code }: GatewayError): boolean {
  return code === "TIMEOUT" || code === "CONNECT_TIMEOUT";
}

/** Counts the requests of one attempt. The turn that was taken for the attempt is that of its first request. */
function createTurns(acquire: () => Promise<void>): RequestTurns & { prepay(): Promise<void> } {
  let paid = 0;
  let waitedMs = 0;
  const since = new Set<number>();
  return {
    async prepay() {
      await acquire();
      paid++;
    },
    async take() {
      if (paid > 0) return void paid--;
      const start = performance.now();
      since.add(start);
      try {
        await acquire();
      } finally {
        since.delete(start);
        waitedMs += performance.now() - start;
      }
    },
    get waitedMs() {
      return waitedMs + (since.size > 0 ? performance.now() - Math.min(...since) : 0);
    },
  };
}

/** Waits until a server may be asked. */
type AcquireTurn = (
  server: string,
  limit: DiscoverySettings["rateLimit"],
  signal?: AbortSignal,
) => Promise<void>;

/** Limits the requests to each server by a token bucket. `limits` are those of single servers, by name. */
export function limitRequests(
  limits: Readonly<Record<string, RateLimitConfig>> = {},
  { sleep, limiter = memoryLimiter() }: { sleep?: Sleep; limiter?: RateLimiter } = {},
): AcquireTurn {
  const own = new Map(
    Object.entries(limits).map(([name, rateLimit]) => [name, parseDiscoveryOptions({ rateLimit }).rateLimit]),
  );
  return async (name, given, signal) => {
    const { requestsPerSecond: limit, burstSize: burst } = own.get(name) ?? given;
    await takeTurn(limiter, { name, limit, perMs: 1_000, burst }, signal, sleep);
  };
}
