import {
  cancelledBy,
  GatewayError,
  type JsonObject,
  type ToolDefinition,
  type ToolResult,
} from "../../core/mod.ts";
import { retried, type Waiting } from "../retry/backoff.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { NEEDS_AUTH } from "../upstreams/errors.ts";
import type { Listing, Upstream } from "../upstreams/upstream.ts";
import type { CapabilityManifest, DiscoveredServer, DiscoveredTool } from "./discovered.ts";
import { type Enriching, emitTypes, withDomains, withOutputs } from "./enrich.ts";
import { discoveryError, mayAskAgain } from "./errors.ts";
import { manifestOf } from "./manifest.ts";
import type { DiscoverySettings } from "./options.ts";
import type { ServerLimiter } from "./rate-limiter.ts";
import type { OpenSession, SessionOptions } from "./session.ts";
import { stepTeller } from "./steps.ts";
import type { ToolCache } from "./tool-cache.ts";

/** What asking a server is done with. */
export interface DiscoverServerParts extends Enriching {
  readonly openSession: OpenSession;
  /** The name of the variable whose token a server may get that asks for one. */
  readonly spareToken: (config: ServerConfig) => string | undefined;
  readonly limiter: ServerLimiter;
  readonly waiting: Waiting;
  readonly cache?: ToolCache | undefined;
  /** Registers a capability wherever capabilities are registered. */
  readonly register: (manifest: CapabilityManifest) => Promise<void>;
  /** Writes capabilities to files. */
  readonly exportAll?:
    | ((config: ServerConfig, manifests: readonly CapabilityManifest[], directory?: string) => Promise<void>)
    | undefined;
}

/** An open session and what the server said in it. */
interface Asked {
  readonly session: Upstream;
  readonly listing: Listing;
  readonly attempt: number;
}

/** Asks one server what it offers, in ten steps. Rejects with a `GatewayError` where it cannot be asked at all. */
export async function discoverServer(
  config: ServerConfig,
  settings: DiscoverySettings,
  parts: DiscoverServerParts,
): Promise<DiscoveredServer> {
  const { name: server } = config;
  const { signal, useCache, refreshCache, authHeaders, rateLimit } = settings;
  const { cache, limiter, waiting } = parts;
  const tell = stepTeller(server, settings.onStep);
  const warnings: GatewayError[] = [];
  const warn = (warning: GatewayError): void => void warnings.push(warning);
  if (signal?.aborted) throw cancelledBy(signal);

  const remembered = useCache && !refreshCache ? await cache?.getTools(config, authHeaders) : undefined;
  tell("cache", remembered ? "hit" : useCache ? "done" : "skipped");
  if (remembered) {
    return { config, ...remembered, tools: allowedOf(remembered.tools), fromCache: true, warnings };
  }

  const { session, listing, attempt } = await retried(ask, {
    policy: settings.retryPolicy,
    waiting,
    // A process that ends by itself does so again; only a connection can break by chance.
    mayRetry: (error) => mayAskAgain(error) && !(config.connection.type === "stdio" && !isLate(error)),
    signal,
  });
  try {
    const { info } = session;
    settings.onListing?.({ config, listing, info, prior: "prior" in session ? session.prior : undefined });
    const typed = await emitTypes(listing.tools, server, parts, warn);
    tell("schemas", "done", attempt);
    const introspects = settings.introspectOutputSchemas && !settings.lazyOutputSchemas;
    const complete = introspects
      ? await withOutputs(
          typed,
          { config, call: (tool, args) => call(session, tool, args), signal },
          parts,
          warn,
        )
      : typed;
    tell("outputs", introspects && parts.introspectOutput ? "done" : "skipped", attempt);
    const tools = withDomains(complete, server, parts);
    tell("domains", "done", attempt);
    const { resources, resourceTemplates } = listing;
    const found = { tools, resources, resourceTemplates };
    if (useCache) await cache?.storeTools(config, found, authHeaders);
    tell("store", useCache && cache ? "done" : "skipped", attempt);
    const allowed = allowedOf(tools);
    tell("registration", await register(allowed), attempt);
    return { config, ...found, tools: allowed, fromCache: false, warnings };
  } finally {
    await session.close();
    tell("termination", "done", attempt);
  }

  /** A definition may allow or forbid tools of its server. All of them are remembered: it may be changed. */
  function allowedOf(tools: readonly DiscoveredTool[]): readonly DiscoveredTool[] {
    const { include, exclude } = config.tools ?? {};
    return tools.filter(({ name }) => !exclude?.includes(name) && (!include || include.includes(name)));
  }

  async function ask(attempt: number): Promise<Asked> {
    try {
      return await askOnce(attempt, {});
    } catch (thrown) {
      // Only a server that asks for it gets a token that is not in its definition.
      const bearerEnv =
        GatewayError.is(thrown) && thrown.code === NEEDS_AUTH.code && authHeaders === undefined
          ? parts.spareToken(config)
          : undefined;
      if (bearerEnv === undefined) throw thrown;
      return askOnce(attempt, { bearerEnv });
    }
  }

  async function askOnce(attempt: number, more: SessionOptions): Promise<Asked> {
    await limiter.acquire(server, rateLimit, signal);
    tell("rate-limit", "done", attempt);
    let session: Upstream | undefined;
    try {
      session = await parts.openSession(config, { authHeaders, signal, ...more });
      tell("session", "done", attempt);
      const listing = await session.list(signal ? { signal } : {});
      tell("tools", "done", attempt);
      return { session, listing, attempt };
    } catch (thrown) {
      const step = session ? "tools" : "session";
      tell(step, "failed", attempt);
      await session?.close();
      if (session) tell("termination", "done", attempt);
      throw discoveryError(thrown, step, server);
    }
  }

  /** Each call is a request as any other. */
  async function call(session: Upstream, tool: ToolDefinition, args: JsonObject): Promise<ToolResult> {
    await limiter.acquire(server, rateLimit, signal);
    return session.call(tool.name, args, { signal });
  }

  async function register(tools: readonly DiscoveredTool[]): Promise<"done" | "skipped" | "failed"> {
    const { registerInMarketplace, exportToRtfs, exportDirectory } = settings;
    if (!registerInMarketplace && !exportToRtfs) return "skipped";
    const manifests = tools.map((tool) => manifestOf(tool, config, parts.inferDomains));
    try {
      if (registerInMarketplace) for (const manifest of manifests) await parts.register(manifest);
      if (exportToRtfs) {
        if (!parts.exportAll)
          throw new GatewayError("CONFIG_INVALID", "There is nothing that exports tools.");
        await parts.exportAll(config, manifests, exportDirectory);
      }
      return "done";
    } catch (thrown) {
      // What was found is found, whether or not others take it.
      warn(GatewayError.from(thrown, `The tools of the server "${server}" could not be registered.`));
      return "failed";
    }
  }
}

function isLate({ code }: GatewayError): boolean {
  return code === "TIMEOUT" || code === "CONNECT_TIMEOUT";
}
