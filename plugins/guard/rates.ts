import * as v from "valibot";
import { type Call, definePlugin, GatewayError, type PluginFactory } from "../../core/mod.ts";
import { globMatcher } from "../rules/glob.ts";
import { STATE_UNAVAILABLE } from "../state/store.ts";
import { RATE_LIMITED } from "./errors.ts";
import { policyOf } from "./policy.ts";
import { memoryLimiter, type RateBucket, type RateLimit, type RateLimiter, type Taken } from "./rate.ts";
import { stateLimiter } from "./rate-state.ts";
import { guardRequest } from "./request-meta.ts";

/** The options of {@link rates}. */
export interface RatesOptions {
  /** Limits by the name of a bucket, or a pattern of names; the first that matches counts, and for each actor apart. */
  readonly limits?: Readonly<Record<string, RateLimit>>;
  /**
   * Whether all processes that share the state count together; false by default. Where many machines share it, they
   * always do.
   */
  readonly shared?: boolean;
  /** Counts, in place of the memory or the state. */
  readonly limiter?: RateLimiter;
}

/** What can be asked of the limits. */
export interface Rates {
  /** The limit of a bucket; nothing where it has none. */
  limitOf(bucket: string): RateLimit | undefined;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `rates`. */
    rates?: Rates;
  }
}

const MINUTE_MS = 60_000;
const positive = v.pipe(v.number(), v.minValue(Number.MIN_VALUE, "a number above 0"));
const options = v.strictObject({
  limits: v.optional(
    v.record(v.string(), v.strictObject({ limit: positive, perMs: positive, burst: v.optional(positive) })),
    {
      "*_high_risk": { limit: 100, perMs: MINUTE_MS },
      "*_destructive_risk": { limit: 100, perMs: MINUTE_MS },
    },
  ),
  shared: v.optional(v.boolean(), false),
  limiter: v.optional(v.custom<RateLimiter>(isLimiter, "a rate limiter")),
});

type Settings = RatesOptions & Required<Pick<RatesOptions, "limits" | "shared">>;

/** Limits how often operations are called, by the bucket that their policy names. Belongs behind `audit`. */
export const rates: PluginFactory<"rates", RatesOptions, Settings> = definePlugin({
  name: "rates",
  options: options as v.GenericSchema<RatesOptions, Settings>,
  setup(gateway, { limits, shared, limiter: given }) {
    const patterns = Object.entries(limits).map(([name, limit]) => ({ matches: globMatcher(name), limit }));
    const limitOf = (bucket: string): RateLimit | undefined =>
      patterns.find(({ matches }) => matches(bucket))?.limit;
    let limiter = given;
    let local: RateLimiter | undefined;
    gateway.services.rates = { limitOf };
    return {
      async execute(call, next) {
        const bucket = bucketOf(call);
        if (bucket) {
          const { ok, retryAfterMs } = await take(call, bucket);
          if (!ok) throw limited(call, retryAfterMs);
        }
        await next();
      },
    };

    async function take(call: Call, bucket: RateBucket): Promise<Taken> {
      const { state } = gateway.services;
      limiter ??= state?.limiter ?? (shared && state ? stateLimiter(state) : memoryLimiter());
      try {
        return await limiter.take([bucket]);
      } catch (thrown) {
        if (!GatewayError.is(thrown) || thrown.code !== STATE_UNAVAILABLE.code) throw thrown;
        // What only reads is counted by each for itself meanwhile; nothing else is let through uncounted.
        if (!call.tool || policyOf(call.tool).riskLevel !== "low") throw uncounted(call, thrown);
        local ??= memoryLimiter();
        return local.take([bucket]);
      }
    }

    function bucketOf({ tool, actor, meta }: Call): RateBucket | undefined {
      if (!tool || tool.builtin || guardRequest(meta).dryRun) return undefined;
      const { rateLimitBucket: name } = policyOf(tool);
      const limit = limitOf(name);
      return limit && { ...limit, name: JSON.stringify([actor.id, name]) };
    }
  },
});

function limited({ tool, toolId }: Call, retryAfterMs: number): GatewayError {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const { riskLevel, rateLimitBucket } = tool ? policyOf(tool) : { riskLevel: "high", rateLimitBucket: "" };
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
  const message = `"${toolId}" is not called: how often it was called cannot be counted now. ${cause.message}`;
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
