import {
  cancelledBy,
  followSignal,
  GatewayError,
  type JsonObject,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import type { Listing, ServerHandle, ServerOpenOptions } from "../../core/services/servers.ts";
import { NEEDS_AUTH } from "../../core/services/servers.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { retried, type Waiting } from "../lib/backoff.ts";
import {
  type DiscoveredServer,
  type DiscoveredTool,
  type DiscoveryStep,
  type DiscoveryStepName,
  discoverySteps,
  type NamedCapability,
} from "./discovered.ts";
import { type Enriching, emitTypes, withDomains, withOutputs } from "./enrich.ts";
import { discoveryError, mayAskAgain } from "./errors.ts";
import { toManifest } from "./manifest.ts";
import type { OpenServer } from "./open-server.ts";
import type { DiscoverySettings } from "./options.ts";
import type { ServerLimiter } from "./rate-limiter.ts";
import type { ToolCache } from "./tool-cache.ts";

/** Dependencies of the discovery of a server. */
export interface DiscoverServerParts extends Enriching {
  readonly open: OpenServer;
  /** Returns the name of the variable whose token a server may get that asks for one. */
  readonly findSpareToken: (config: ServerConfig) => string | undefined;
  readonly limiter: ServerLimiter;
  readonly waiting: Waiting;
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
  const { cache, limiter, waiting } = parts;
  const warnings: GatewayError[] = [];
  const warn = (warning: GatewayError): void => void warnings.push(warning);
  if (signal?.aborted) throw cancelledBy(signal);

  const cached = useCache && !refreshCache ? await cache?.getTools(config, authHeaders) : undefined;
  report("cache", cached ? "hit" : useCache ? "done" : "skipped");
  if (cached) return { config, ...cached, tools: onlyAllowed(cached.tools), fromCache: true, warnings };

  const { handle, listing, attempt } = await retried(openAndList, {
    policy: settings.retryPolicy,
    waiting,
    // A process that exits by itself does so again; only a network connection breaks by chance.
    mayRetry: (error) => mayAskAgain(error) && !(config.connection.type === "stdio" && !isTimeout(error)),
    signal,
  });
  try {
    const typed = await emitTypes(listing.tools, server, parts, warn);
    report("schemas", "done", attempt);
    const introspects = settings.introspectOutputSchemas && !settings.lazyOutputSchemas;
    const context = { config, call: callTool, signal };
    const complete = introspects ? await withOutputs(typed, context, parts, warn) : typed;
    report("outputs", introspects && parts.introspectOutput ? "done" : "skipped", attempt);
    const tools = withDomains(complete, server, parts);
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
    await limiter.acquire(server, rateLimit, signal);
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
    await limiter.acquire(server, rateLimit, signal);
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
          throw new GatewayError("CONFIG_INVALID", "There is nothing that exports tools.");
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
