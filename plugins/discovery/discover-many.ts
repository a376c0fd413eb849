import { GatewayError } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import type { DiscoveredServer, DiscoveryFailure, DiscoveryOutcome } from "./discovered.ts";
import type { DiscoverySettings } from "./options.ts";

/** Discovers several servers, a few at a time. The failure of one does not affect the others. */
export async function discoverMany(
  configs: readonly ServerConfig[],
  settings: DiscoverySettings,
  discover: (config: ServerConfig) => Promise<DiscoveredServer>,
): Promise<DiscoveryOutcome> {
  const total = configs.length;
  let done = 0;
  const discoverOne = async (config: ServerConfig): Promise<DiscoveredServer | DiscoveryFailure> => {
    const result = await discover(config).catch((thrown: unknown) => {
      const message = `The server "${config.name}" could not be asked for its tools.`;
      return { server: config.name, config, error: GatewayError.from(thrown, message) };
    });
    const outcome =
      "error" in result
        ? { error: result.error }
        : { tools: result.tools.length, fromCache: result.fromCache };
    settings.onServer?.({ config, done: ++done, total, ...outcome });
    return result;
  };
  const { default: Queue } = await import("p-queue");
  const queue = new Queue({ concurrency: settings.maxParallelDiscoveries });
  const all = await queue.addAll(configs.map((config) => () => discoverOne(config)));
  return {
    servers: all.filter((each) => "tools" in each),
    failures: all.filter((each) => "error" in each),
  };
}

/** Outcome of warming the cache. */
export interface WarmStatistics {
  /** Servers whose tools are cached now. */
  readonly successful: number;
  readonly failed: number;
  /** Number of their tools. */
  readonly cachedTools: number;
  /** Servers that were cached before and were not asked. */
  readonly alreadyWarm: number;
  readonly durationMs: number;
  readonly failures: readonly DiscoveryFailure[];
}

/** Counts the outcome of a discovery. */
export function toWarmStatistics(
  { servers, failures }: DiscoveryOutcome,
  durationMs: number,
): WarmStatistics {
  return {
    successful: servers.length,
    failed: failures.length,
    cachedTools: servers.reduce((sum, { tools }) => sum + tools.length, 0),
    alreadyWarm: servers.filter(({ fromCache }) => fromCache).length,
    durationMs: Math.round(durationMs),
    failures,
  };
}
