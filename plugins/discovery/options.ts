import * as v from "valibot";
import { describeIssue } from "../../core/issues.ts";
import { GatewayError } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { type RetryPolicy, retryPolicySchema } from "../lib/backoff.ts";
import type { DiscoveryStep } from "./discovered.ts";

/** Rate limit of a server. */
export interface RateLimitConfig {
  /** 10 by default. */
  readonly requestsPerSecond?: number;
  /** Requests that may come at once; 20 by default. */
  readonly burstSize?: number;
}

/** Progress of the discovery of several servers. */
export interface ServerProgress {
  readonly config: ServerConfig;
  /** Number of servers that are done, including this one. */
  readonly done: number;
  readonly total: number;
  readonly tools?: number;
  readonly fromCache?: boolean;
  readonly error?: GatewayError;
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
  /** Folder of these files; `capabilities/servers/pending` by default. */
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
}

/** Options that have no default. */
type Optional = "exportDirectory" | "authHeaders" | "signal" | "onStep" | "onServer";

/** Options of a discovery with all defaults filled in. */
export interface DiscoverySettings
  extends Required<Omit<DiscoveryOptions, Optional | "retryPolicy" | "rateLimit">>,
    Pick<DiscoveryOptions, Optional> {
  readonly retryPolicy: Required<RetryPolicy>;
  readonly rateLimit: Required<RateLimitConfig>;
}

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more"));
const listener = v.custom<(value: unknown) => void>((value) => typeof value === "function", "a function");

/** Checks a rate limit and holds its defaults. */
export const rateLimitSchema: v.GenericSchema<RateLimitConfig, Required<RateLimitConfig>> = v.strictObject({
  // One in a thousand seconds: below that, a caller would wait forever.
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
