/**
 * Tries calls again that failed on the way to their server, and stops asking servers that do not answer.
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
  type PluginFactory,
  type SettledCall,
} from "../../core/mod.ts";
import { readGuardRequest } from "../../core/services/policy.ts";
import { type Breaker, createBreaker } from "./breaker.ts";
import { type RetryBudget, retryBudget } from "./budget.ts";
import { isConnectionLost, verdictOn } from "./verdict.ts";
import { mayRetry, waitBefore } from "./waiting.ts";

/** A server has failed so often in a row that it is not asked for a while. */
export const BREAKER_OPEN: ErrorKind = defineError("BREAKER_OPEN", {
  spec: "SERVER_CONNECTION_ERROR",
  retry: true,
});

/** The options of {@link retry}. */
export interface RetryOptions {
  /** How often a call is tried again; 1 by default, and 0 for never. */
  readonly retries?: number;
  /** The longest wait before the first retry, which is twice as long before each next one; 100 by default. */
  readonly baseMs?: number;
  /** The longest wait at all; a server that asks for more is not waited for. 2,000 by default. */
  readonly maxMs?: number;
  /** How large a share of the calls to a server may be retries; 0.2 by default. */
  readonly share?: number;
  /** So many failures in a row, and a server is not asked for a while; 5 by default. */
  readonly failures?: number;
  /** For how long; 30,000 by default. */
  readonly openMs?: number;
  /** Milliseconds that only ever grow, for tests. */
  readonly now?: () => number;
}

type Settings = Required<RetryOptions>;

const count = v.pipe(v.number(), v.integer(), v.minValue(0, "a whole number, 0 or more"));
const options = v.strictObject({
  retries: v.optional(count, 1),
  baseMs: v.optional(count, 100),
  maxMs: v.optional(count, 2_000),
  share: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.2),
  failures: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more")), 5),
  openMs: v.optional(count, 30_000),
  now: v.optional(
    v.custom<() => number>((value) => typeof value === "function", "a function"),
    () => () => performance.now(),
  ),
});

interface Way {
  readonly breaker: Breaker;
  readonly budget: RetryBudget;
}

/**
 * Tries a call again if that can do no harm: it only reads, it was certainly not sent, or its server takes a key.
 * A server that fails several times in a row is left alone for a while. Belongs behind `timeout`.
 */
export const retry: PluginFactory<"retry", RetryOptions, Settings> = definePlugin({
  name: "retry",
  uses: [],
  options: options as v.GenericSchema<RetryOptions, Settings>,
  setup(_gateway, settings) {
    const ways = new Map<string, Way>();
    /** The servers of calls that have not come back, by the id of the call. */
    const out = new Map<string, Breaker>();
    const wayTo = (server: string): Way => {
      const way = ways.get(server) ?? {
        breaker: createBreaker(settings, settings.now),
        budget: retryBudget(settings.share, settings.now),
      };
      ways.set(server, way);
      return way;
    };

    return {
      async execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin || readGuardRequest(call.meta).dryRun) return next();
        const way = wayTo(tool.server);
        way.budget.call();
        for (let tries = 0; ; tries++) {
          const failure = await attempt(call, tool.server, way.breaker, next);
          const isWorthIt = tries < settings.retries && mayRetry(call, failure?.thrown);
          const waitMs = isWorthIt ? waitBefore(tries, failure?.thrown, settings) : undefined;
          if (waitMs === undefined || !way.budget.retry()) {
            if (failure) throw failure.thrown;
            return;
          }
          await pause(waitMs, call.signal);
        }
      },
      audit: (settled) => late(settled),
    };

    /** Makes the call once; returns what it failed with, if it did. */
    async function attempt(
      call: Call,
      server: string,
      breaker: Breaker,
      next: Next,
    ): Promise<{ readonly thrown: unknown } | undefined> {
      const waitMs = breaker.enter();
      if (waitMs > 0) return { thrown: open(server, waitMs) };
      const since = breaker.counted;
      out.set(call.id, breaker);
      const failure = await next().then(
        () => undefined,
        (thrown: unknown) => ({ thrown }),
      );
      // Where it has been taken for late already, it is not counted again.
      if (out.delete(call.id)) judge(breaker, call, failure?.thrown, since);
      return failure;
    }

    /** A tool may never come back from a call that has timed out. */
    function late({ id, ok, error }: SettledCall): void {
      const breaker = out.get(id);
      if (!breaker || ok) return;
      out.delete(id);
      if (error.code === "TIMEOUT") breaker.fail();
      else breaker.leave();
    }
  },
});

function judge(breaker: Breaker, call: Call, thrown: unknown, since: number): void {
  const verdict = verdictOn(call, thrown);
  // A connection that ends takes all its calls with it.
  if (verdict === "failed") breaker.fail(isConnectionLost(thrown) ? since : undefined);
  else if (verdict === "answered") breaker.succeed();
  else breaker.leave();
}

function open(server: string, waitMs: number): GatewayError {
  const seconds = Math.ceil(waitMs / 1000);
  return new GatewayError(
    BREAKER_OPEN,
    `The server "${server}" has failed several times in a row. It is asked again in ${seconds} s.`,
    { data: { server, retryAfterMs: waitMs, sent: false } },
  );
}

/** Waits, unless the call is given up. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    function done(): void {
      signal.removeEventListener("abort", giveUp);
      resolve();
    }
  });
}
