import { memoryLimiter, type RateLimiter } from "../guard/rate.ts";
import { sleep as realSleep, type Sleep } from "../retry/backoff.ts";
import { discoverySettings, type RateLimitConfig } from "./options.ts";

/** Holds back whoever asks a server too often. */
export interface ServerLimiter {
  /** Resolves once the server may be asked. */
  acquire(server: string, limit: Required<RateLimitConfig>, signal?: AbortSignal): Promise<void>;
}

/** What a {@link serverLimiter} is made of. */
export interface ServerLimiterParts {
  /** Limits of single servers, by name; they go before all others. */
  readonly servers?: Readonly<Record<string, RateLimitConfig>> | undefined;
  readonly limiter?: RateLimiter | undefined;
  readonly sleep?: Sleep | undefined;
}

/** Makes a limiter with a bucket of tokens for each server. */
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
