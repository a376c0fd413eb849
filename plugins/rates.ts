import * as v from "valibot";
import { type Call, definePlugin, GatewayError, type JsonObject } from "../core/mod.ts";
import { getPolicy, RATE_LIMITED, readGuardRequest } from "../core/services/policy.ts";
import { readState, STATE_UNAVAILABLE, type StateStore, updateState } from "../core/services/state.ts";
import { compileGlob } from "./lib/glob.ts";
import { option } from "./lib/options.ts";
import {
  arrive,
  memoryLimiter,
  type RateBucket,
  type RateLimit,
  type RateLimiter,
  type Taken,
  toVerdict,
} from "./lib/rate.ts";

const GROUP = "rates/";

/**
 * Counts in a store, for all processes that share it. All buckets are read before anything is taken; if another process
 * was first in a later bucket, what was taken is given back. So at times slightly less is let through, never more.
 */
export function stateLimiter(store: StateStore, wall: () => number = Date.now): RateLimiter {
  return {
    async take(buckets, cost = 1) {
      const looked = await Promise.all(
        buckets.map(async (bucket) => {
          const value = await readState(store, GROUP + bucket.name, usedUp(bucket));
          return { bucket, ...arrive(readUntil(value), wall(), bucket, cost) };
        }),
      );
      const verdict = toVerdict(looked);
      if (!verdict.ok) return verdict;
      const taken: RateBucket[] = [];
      for (const bucket of buckets) {
        const waitMs = await takeOne(bucket, cost);
        if (waitMs === 0) {
          taken.push(bucket);
          continue;
        }
        for (const each of taken) await giveBack(each, cost);
        return toVerdict([{ bucket, waitMs }]);
      }
      return verdict;
    },
  };

  async function takeOne(bucket: RateBucket, cost: number): Promise<number> {
    let waitMs = 0;
    await updateState(
      store,
      GROUP + bucket.name,
      (value) => {
        const arrival = arrive(readUntil(value), wall(), bucket, cost);
        waitMs = arrival.waitMs;
        return waitMs > 0 ? undefined : { until: arrival.until };
      },
      usedUp(bucket),
    );
    return waitMs;
  }

  /** Count of a damaged record: the whole limit was used just now. */
  function usedUp({ perMs }: RateBucket): JsonObject {
    return { until: wall() + perMs };
  }

  async function giveBack({ name, perMs, limit }: RateBucket, cost: number): Promise<void> {
    await updateState(store, GROUP + name, (value) => {
      const until = readUntil(value);
      return until === undefined ? undefined : { until: until - (perMs / limit) * cost };
    });
  }
}

function readUntil(value: JsonObject | undefined): number | undefined {
  const until = value?.["until"];
  return typeof until === "number" ? until : undefined;
}

const MINUTE_MS = 60_000;
const positive = v.pipe(v.number(), v.minValue(Number.MIN_VALUE, "a number above 0"));
const options = v.strictObject({
  limits: option(
    v.record(
      v.string(),
      v.strictObject({
        limit: v.pipe(positive, v.description("Calls allowed per period.")),
        perMs: v.pipe(positive, v.description("Length of the period in milliseconds.")),
        burst: option(positive, "Calls allowed at once; by default as many as `limit`."),
      }),
    ),
    "Limits by the name of a bucket or a pattern of names; the first match counts. Each actor is counted separately.",
    {
      "*_high_risk": { limit: 100, perMs: MINUTE_MS },
      "*_destructive_risk": { limit: 100, perMs: MINUTE_MS },
    },
  ),
  shared: option(
    v.boolean(),
    "Whether all processes that share the state count together. A state that machines share always counts together.",
    false,
  ),
  limiter: option(
    v.custom<RateLimiter>(isLimiter, "a rate limiter"),
    "A limiter of your own, in place of memory or state.",
  ),
});

/** Options of {@link rates}. */
export type RatesOptions = v.InferInput<typeof options>;

/** Limits the rate of calls by the bucket of their policy. List it after `audit`. */
export const rates = definePlugin({
  name: "rates",
  uses: ["state?"],
  provides: ["rates"],
  options,
  errors: { RATE_LIMITED },
  setup(gateway, { limits, shared, limiter: given }) {
    const patterns = Object.entries(limits).map(([name, limit]) => ({ matches: compileGlob(name), limit }));
    const findLimit = (bucket: string): RateLimit | undefined =>
      patterns.find(({ matches }) => matches(bucket))?.limit;
    let limiter = given;
    let local: RateLimiter | undefined;
    gateway.provide("rates", { getLimit: findLimit });
    return {
      async execute(call, next) {
        const bucket = findBucket(call);
        if (bucket) {
          const { ok, retryAfterMs } = await take(call, bucket);
          if (!ok) throw rateLimited(call, retryAfterMs);
        }
        await next();
      },
    };

    async function take(call: Call, bucket: RateBucket): Promise<Taken> {
      const { state } = gateway.services;
      limiter ??= state?.shared?.limiter ?? (shared && state ? stateLimiter(state) : memoryLimiter());
      try {
        return await limiter.take([bucket]);
      } catch (thrown) {
        if (!GatewayError.is(thrown) || thrown.code !== STATE_UNAVAILABLE.code) throw thrown;
        // Meanwhile each process counts calls that only read; no other call is let through uncounted.
        if (!call.tool || getPolicy(call.tool).riskLevel !== "low") throw uncounted(call, thrown);
        local ??= memoryLimiter();
        return local.take([bucket]);
      }
    }

    function findBucket({ tool, actor, meta }: Call): RateBucket | undefined {
      if (!tool || tool.builtin || readGuardRequest(meta).dryRun) return undefined;
      const { rateLimitBucket: name } = getPolicy(tool);
      const limit = findLimit(name);
      return limit && { ...limit, name: JSON.stringify([actor.id, name]) };
    }
  },
});

function rateLimited({ tool, toolId }: Call, retryAfterMs: number): GatewayError {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const { riskLevel, rateLimitBucket } = tool ? getPolicy(tool) : { riskLevel: "high", rateLimitBucket: "" };
  return new GatewayError(
    RATE_LIMITED,
    `"${toolId}" was called too often. It may be called again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`,
    {
      data: {
        bucket: rateLimitBucket,
        risk_level: riskLevel,
        retry_after: seconds,
        retryAfterMs,
        sent: false,
        safe_new_key: true,
        suggestion: `Wait ${seconds} s, then make the same call again; the idempotency key was not used up.`,
      },
    },
  );
}

function uncounted({ toolId }: Call, cause: GatewayError): GatewayError {
  const message = `"${toolId}" is not called: its rate limit cannot be checked now. ${cause.message}`;
  return new GatewayError(STATE_UNAVAILABLE, message, {
    cause,
    data: {
      sent: false,
      safe_new_key: true,
      suggestion: "Make the same call again in a moment; the idempotency key was not used up.",
    },
  });
}

function isLimiter(value: unknown): value is RateLimiter {
  return typeof (value as Partial<RateLimiter> | null)?.take === "function";
}
