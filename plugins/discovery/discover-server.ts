import {
  followSignal,
  GatewayError,
  getAbortReason,
  type JsonObject,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import {
  type Listing,
  NEEDS_AUTH,
  type ServerHandle,
  type ServerOpenOptions,
} from "../../core/services/servers.ts";
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
} from "./discovered.ts";
import { addDomains, addOutputs, type Enriching, emitTypes } from "./enrich.ts";
import { discoveryError, isRetryable } from "./errors.ts";
import { toManifest } from "./manifest.ts";
import type { OpenServer } from "./open-server.ts";
import { type DiscoverySettings, parseDiscoveryOptions, type RateLimitConfig } from "./options.ts";
import type { ToolCache } from "./tool-cache.ts";

/** Dependencies of the discovery of a server. */
export interface DiscoverServerParts extends Enriching {
  readonly open: OpenServer;
  /** Returns the name of the variable whose token a server may get that asks for one. */
  readonly findSpareToken: (config: ServerConfig) => string | undefined;
  readonly acquireTurn: AcquireTurn;
  readonly waiting: RetryTiming;
  readonly cache?: ToolCache | undefined;
  /** Registers a capability in the marketplace and the catalog. */
  readonly register: (manifest: NamedCapability) => Promise<void>;
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
  report("cache", cached ? "hit" : useCache ? "done" : "skipped");
  if (cached) return { config, ...cached, tools: onlyAllowed(cached.tools), fromCache: true, warnings };

  const { handle, listing, attempt } = await retryWork(openAndList, {
    policy: settings.retryPolicy,
    waiting,
    // A process that exits by itself does so again; only a network connection breaks by chance.
    mayRetry: (error) => isRetryable(error) && !(config.connection.type === "stdio" && !isTimeout(error)),
    signal,
  });
  try {
    const typed = await emitTypes(listing.tools, server, parts, warn);
    report("schemas", "done", attempt);
    const introspects = settings.introspectOutputSchemas && !settings.lazyOutputSchemas;
    const context = { config, call: callTool, signal };
    const complete = introspects ? await addOutputs(typed, context, parts, warn) : typed;
    report("outputs", introspects && parts.introspectOutput ? "done" : "skipped", attempt);
    const tools = addDomains(complete, server, parts);
    report("domains", "done", attempt);
    const { resources, resourceTemplates } = listing;
    const found = { tools, resources, resourceTemplates };
    if (useCache) await cache?.storeTools(config, found, authHeaders);
    report("store", useCache && cache ? "done" : "skipped", attempt);
    const allowed = onlyAllowed(tools);
    report("registration", await register(allowed), attempt);
    return { config, ...found, tools: allowed, fromCache: false, warnings };
  } finally {
    await handle.close();
    report("termination", "done", attempt);
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
    try {
      return await openOnce(attempt, {});
    } catch (thrown) {
      // A token that is not in the definition goes only to a server that asks for one.
      const isAsked = GatewayError.is(thrown) && thrown.code === NEEDS_AUTH.code && authHeaders === undefined;
      const bearerEnv = isAsked ? parts.findSpareToken(config) : undefined;
      if (bearerEnv === undefined) throw thrown;
      return openOnce(attempt, { bearerEnv });
    }
  }

  async function openOnce(attempt: number, options: ServerOpenOptions): Promise<Session> {
    await parts.acquireTurn(server, rateLimit, signal);
    report("rate-limit", "done", attempt);
    let handle: ServerHandle | undefined;
    try {
      handle = await parts.open(config, { headers: authHeaders, signal, ...options });
      report("session", "done", attempt);
      const listing = await handle.list(signal ? { signal } : {});
      report("tools", "done", attempt);
      return { handle, listing, attempt };
    } catch (thrown) {
      const step = handle ? "tools" : "session";
      report(step, "failed", attempt);
      await handle?.close();
      if (handle) report("termination", "done", attempt);
      throw discoveryError(thrown, step, server);
    }
  }

  /** Calls a tool under the same rate limit as any other request. */
  async function callTool(tool: ToolDefinition, args: JsonObject): Promise<ToolResult> {
    await parts.acquireTurn(server, rateLimit, signal);
    const { cancellation, stop } = followSignal(signal);
    return handle.call(tool.name, args, { cancellation }).finally(stop);
  }

  async function register(tools: readonly DiscoveredTool[]): Promise<"done" | "skipped" | "failed"> {
    const { registerInMarketplace, exportToRtfs, exportDirectory } = settings;
    if (!registerInMarketplace && !exportToRtfs) return "skipped";
    const manifests = tools.map((tool) => toManifest(tool, config, parts.inferTags));
    try {
      if (registerInMarketplace) for (const manifest of manifests) await parts.register(manifest);
      if (exportToRtfs) {
        if (!parts.exportAll)
          throw new GatewayError(
            "CONFIG_INVALID",
            "Tools cannot be exported: the discovery service has no exporter.",
          );
        await parts.exportAll(config, manifests, exportDirectory);
      }
      return "done";
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
