import * as v from "valibot";
import { describeIssue } from "../../core/issues.ts";
import { GatewayError } from "../../core/mod.ts";
import { type RetryPolicy, retryPolicySchema } from "../retry/backoff.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import type { Listing, UpstreamInfo } from "../upstreams/upstream.ts";
import type { DiscoveryStep } from "./steps.ts";

/** How often a server may be asked. */
export interface RateLimitConfig {
  /** 10 by default. */
  readonly requestsPerSecond?: number;
  /** How many may come at once; 20 by default. */
  readonly burstSize?: number;
}

/** What became of one server of several. */
export interface ServerProgress {
  readonly config: ServerConfig;
  /** How many are done, this one among them. */
  readonly done: number;
  readonly total: number;
  readonly tools?: number;
  readonly fromCache?: boolean;
  readonly error?: GatewayError;
}

/** What a server said, as it said it. */
export interface ServerListing {
  readonly config: ServerConfig;
  readonly listing: Listing;
  readonly info: UpstreamInfo;
  /** What the handshake came to, for the next one. */
  readonly prior: unknown;
}

/** The options of a discovery. */
export interface DiscoveryOptions {
  /** Whether tools without an output schema are called once to find it out; false by default, since that is slow. */
  readonly introspectOutputSchemas?: boolean;
  /** Whether what is remembered is used, and what is found is remembered; false by default. */
  readonly useCache?: boolean;
  /** Whether servers are asked although something is remembered; false by default. */
  readonly refreshCache?: boolean;
  /** Whether tools that are found are registered; false by default. */
  readonly registerInMarketplace?: boolean;
  /** Whether tools that are found are written to files; false by default. */
  readonly exportToRtfs?: boolean;
  /** Where to; `capabilities/servers/pending` by default. */
  readonly exportDirectory?: string | undefined;
  /** Sent in place of what a server's definition says of the same headers. Each server gets them, found ones too. */
  readonly authHeaders?: Readonly<Record<string, string>> | undefined;
  readonly retryPolicy?: RetryPolicy;
  readonly rateLimit?: RateLimitConfig;
  /** Servers that are asked at once; 5 by default. */
  readonly maxParallelDiscoveries?: number;
  /** Whether output schemas are left for later even where they would be found out; true by default. */
  readonly lazyOutputSchemas?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Hears of every step of every server. */
  readonly onStep?: ((step: DiscoveryStep) => void) | undefined;
  /** Hears of every server that is done, where several are asked. */
  readonly onServer?: ((progress: ServerProgress) => void) | undefined;
  /** Hears what every server said that was asked. */
  readonly onListing?: ((listing: ServerListing) => void) | undefined;
}

/** The same with every default filled in. */
export interface DiscoverySettings
  extends Required<
    Omit<
      DiscoveryOptions,
      | "exportDirectory"
      | "authHeaders"
      | "signal"
      | "onStep"
      | "onServer"
      | "onListing"
      | "retryPolicy"
      | "rateLimit"
    >
  > {
  readonly exportDirectory?: string | undefined;
  readonly authHeaders?: Readonly<Record<string, string>> | undefined;
  readonly retryPolicy: Required<RetryPolicy>;
  readonly rateLimit: Required<RateLimitConfig>;
  readonly signal?: AbortSignal | undefined;
  readonly onStep?: DiscoveryOptions["onStep"];
  readonly onServer?: DiscoveryOptions["onServer"];
  readonly onListing?: DiscoveryOptions["onListing"];
}

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more"));
const listener = v.custom<(value: unknown) => void>((value) => typeof value === "function", "a function");

/** Checks a rate limit and holds its defaults. */
export const rateLimitSchema: v.GenericSchema<RateLimitConfig, Required<RateLimitConfig>> = v.strictObject({
  // One in a thousand seconds: slower than that, somebody would wait for ever.
  requestsPerSecond: v.optional(v.pipe(v.number(), v.minValue(0.001, "a number, 0.001 or more")), 10),
  burstSize: v.optional(count, 20),
}) as v.GenericSchema<RateLimitConfig, Required<RateLimitConfig>>;

const options = v.strictObject({
  introspectOutputSchemas: v.optional(v.boolean(), false),
  useCache: v.optional(v.boolean(), false),
  refreshCache: v.optional(v.boolean(), false),
  registerInMarketplace: v.optional(v.boolean(), false),
  exportToRtfs: v.optional(v.boolean(), false),
  exportDirectory: v.optional(v.string()),
  authHeaders: v.optional(v.record(v.string(), v.string())),
  retryPolicy: v.optional(retryPolicySchema, {}),
  rateLimit: v.optional(rateLimitSchema, {}),
  maxParallelDiscoveries: v.optional(count, 5),
  lazyOutputSchemas: v.optional(v.boolean(), true),
  signal: v.optional(
    v.custom<AbortSignal>(
      (value) => typeof (value as AbortSignal)?.addEventListener === "function",
      "a signal",
    ),
  ),
  onStep: v.optional(listener),
  onServer: v.optional(listener),
  onListing: v.optional(listener),
});

/** Checks the options of a discovery and fills in their defaults. Options that were checked stay as they are. */
export function discoverySettings(given: DiscoveryOptions = {}): DiscoverySettings {
  const parsed = v.safeParse(options, given);
  if (parsed.success) return parsed.output as DiscoverySettings;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The discovery has a wrong option: ${describeIssue(parsed.issues[0], "its options")}.`,
  );
}
