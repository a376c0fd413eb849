/**
 * Retries calls that failed on the way to their server, and stops calling servers that do not answer.
 *
 * @module
 */
import * as v from "valibot";
import {
  type Call,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  type Next,
  type SettledCall,
} from "../../core/mod.ts";
import { readGuardRequest } from "../../core/services/policy.ts";
import { type Backoff, nextBackoffDelay, sleep } from "../lib/backoff.ts";
import { option, wholeNumber } from "../lib/options.ts";
import { type Breaker, createBreaker, createRetryBudget, type RetryBudget } from "./breaker.ts";
import { canRetry, isConnectionLost, judgeAttempt } from "./verdict.ts";

export const BREAKER_OPEN: ErrorKind = defineError("BREAKER_OPEN", {
  spec: "SERVER_CONNECTION_ERROR",
  retry: true,
  description: "A server has failed so often in a row that it is not called for a while.",
});

const count = wholeNumber(0);
const options = v.strictObject({
  retries: option(count, "Retries of a call; 0 means none.", 1),
  baseMs: option(
    count,
    "The longest delay before the first retry in milliseconds; it doubles with each further retry.",
    100,
  ),
  maxMs: option(
    count,
    "The longest delay of all in milliseconds. If a server asks for more, the call is not retried.",
    2_000,
  ),
  share: option(
    v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    "The share of the calls to a server that may be retries, from 0 to 1.",
    0.2,
  ),
  failures: option(wholeNumber(1), "Failures in a row after which a server is not called for a while.", 5),
  openMs: option(count, "Milliseconds for which a server that failed is not called.", 30_000),
  now: option(
    v.custom<() => number>((value) => typeof value === "function", "a function"),
    "A clock in milliseconds that never goes back, for tests.",
    () => () => performance.now(),
  ),
});

/** Options of {@link retry}. */
export type RetryOptions = v.InferInput<typeof options>;

interface ServerHealth {
  readonly breaker: Breaker;
  readonly budget: RetryBudget;
}

/**
 * Retries a call if that does no harm: it only reads, it was certainly not sent, or its server takes an idempotency key.
 * A server that fails several times in a row is not called for a while. List it after `timeout`.
 */
export const retry = definePlugin({
  name: "retry",
  uses: [],
  options,
  errors: { BREAKER_OPEN },
  setup(_gateway, settings) {
    // Full jitter, since many calls fail together.
    const backoff: Backoff = {
      initialDelayMs: settings.baseMs,
      maxDelayMs: settings.maxMs,
      jitter: [0, 1],
    };
    const servers = new Map<string, ServerHealth>();
    /** The breakers of running calls by the id of the call. */
    const pending = new Map<string, Breaker>();
    const getServer = (server: string): ServerHealth => {
      const health = servers.get(server) ?? {
        breaker: createBreaker(settings, settings.now),
        budget: createRetryBudget(settings.share, settings.now),
      };
      servers.set(server, health);
      return health;
    };

    return {
      async execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin || readGuardRequest(call.meta).dryRun) return next();
        const { breaker, budget } = getServer(tool.server);
        budget.call();
        for (let tries = 0; ; tries++) {
          const failure = await attempt(call, tool.server, breaker, next);
          const isRetried = tries < settings.retries && canRetry(call, failure?.thrown);
          const delayMs = isRetried ? nextBackoffDelay(tries, failure?.thrown, backoff) : undefined;
          if (delayMs === undefined || !budget.retry()) {
            if (failure) throw failure.thrown;
            return;
          }
          await sleep(delayMs, call.signal);
        }
      },
      audit: countLate,
    };

    /** Makes the call once; returns its failure, if any. */
    async function attempt(
      call: Call,
      server: string,
      breaker: Breaker,
      next: Next,
    ): Promise<{ readonly thrown: unknown } | undefined> {
      const waitMs = breaker.enter();
      if (waitMs > 0) return { thrown: breakerOpen(server, waitMs) };
      const since = breaker.counted;
      pending.set(call.id, breaker);
      const failure = await next().then(
        () => undefined,
        (thrown: unknown) => ({ thrown }),
      );
      // A call that timed out was counted already.
      if (pending.delete(call.id)) report(breaker, call, failure?.thrown, since);
      return failure;
    }

    /** Counts a call that timed out: its tool may never return. */
    function countLate({ id, ok, error }: SettledCall): void {
      const breaker = pending.get(id);
      if (!breaker || ok) return;
      pending.delete(id);
      if (error.code === "TIMEOUT") breaker.fail();
      else breaker.leave();
    }
  },
});

function report(breaker: Breaker, call: Call, thrown: unknown, since: number): void {
  const verdict = judgeAttempt(call, thrown);
  // A connection that ends takes all its calls with it.
  if (verdict === "failed") breaker.fail(isConnectionLost(thrown) ? since : undefined);
  else if (verdict === "answered") breaker.succeed();
  else breaker.leave();
}

function breakerOpen(server: string, waitMs: number): GatewayError {
  const seconds = Math.ceil(waitMs / 1000);
  return new GatewayError(
    BREAKER_OPEN,
    `The server "${server}" has failed several times in a row. It is called again in ${seconds} s.`,
    { data: { server, retryAfterMs: waitMs, sent: false } },
  );
}
