import { sleep as realSleep, type Sleep } from "../lib/backoff.ts";
import { memoryLimiter, type RateLimiter } from "../lib/rate.ts";
import { discoverySettings, type RateLimitConfig } from "./options.ts";

/** Limits the rate of requests to each server. */
export interface ServerLimiter {
  /** Resolves once the server may be asked. */
  acquire(server: string, limit: Required<RateLimitConfig>, signal?: AbortSignal): Promise<void>;
}

/** Dependencies of {@link serverLimiter}. */
export interface ServerLimiterParts {
  /** Limits of single servers, by name; they go before all others. */
  readonly servers?: Readonly<Record<string, RateLimitConfig>> | undefined;
  readonly limiter?: RateLimiter | undefined;
  readonly sleep?: Sleep | undefined;
}

/** Creates a limiter with a token bucket for each server. */
export function serverLimiter(parts: ServerLimiterParts = {}): ServerLimiter {
  const { limiter = memoryLimiter(), sleep = realSleep } = parts;
  const own = new Map(
    Object.entries(parts.servers ?? {}).map(([name, rateLimit]) => [
      name,
      discoverySettings({ rateLimit }).rateLimit,
    ]),
  );
  return {
    async acquire(server, given, signal) {
      const { requestsPerSecond, burstSize } = own.get(server) ?? given;
      const bucket = { name: server, limit: requestsPerSecond, perMs: 1_000, burst: burstSize };
      for (;;) {
        const { ok, retryAfterMs } = await limiter.take([bucket]);
        if (ok) return;
        await sleep(retryAfterMs, signal);
      }
    },
  };
}
