import type { DiscoveryFailure, DiscoveryOutcome } from "./discovered.ts";

/** What came of warming the cache. */
export interface WarmStatistics {
  /** Servers whose tools are remembered now. */
  readonly successful: number;
  readonly failed: number;
  /** How many tools are remembered of them. */
  readonly cachedTools: number;
  /** Servers that were remembered already, and not asked. */
  readonly alreadyWarm: number;
  readonly durationMs: number;
  readonly failures: readonly DiscoveryFailure[];
}

/** Counts what came of it. */
export function warmStatistics({ servers, failures }: DiscoveryOutcome, durationMs: number): WarmStatistics {
  return {
    successful: servers.length,
    failed: failures.length,
    cachedTools: servers.reduce((sum, { tools }) => sum + tools.length, 0),
    alreadyWarm: servers.filter(({ fromCache }) => fromCache).length,
    durationMs: Math.round(durationMs),
    failures,
  };
}
