import * as v from "valibot";
import { describeIssue } from "../../core/issues.ts";
import { GatewayError } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { retryPolicySchema } from "../lib/backoff.ts";
import { option, wholeNumber } from "../lib/options.ts";
import type { DiscoveryStep } from "./discovered.ts";

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

const count = wholeNumber(1);
const isFunction = (value: unknown): boolean => typeof value === "function";
const switchedOff = (description: string) => option(v.boolean(), description, false);

/** Checks a rate limit and holds its defaults. */
export const rateLimitSchema = v.strictObject({
  // One in a thousand seconds: below that, a caller would wait forever.
  requestsPerSecond: option(
    v.pipe(v.number(), v.minValue(0.001, "a number, 0.001 or more")),
    "Requests per second.",
    10,
  ),
  burstSize: option(count, "Requests that may come at once.", 20),
});

/** Rate limit of a server. */
export type RateLimitConfig = v.InferInput<typeof rateLimitSchema>;

const options = v.strictObject({
  introspectOutputSchemas: switchedOff(
    "Whether tools without an output schema are called once to find it out, which is slow.",
  ),
  useCache: switchedOff("Whether cached tools are used, and discovered tools are cached."),
  refreshCache: switchedOff("Whether servers are asked although their tools are cached."),
  registerInMarketplace: switchedOff(
    "Whether discovered tools are added to the gateway. Tools of a server that the gateway does not have wait for approval. Cached tools are not registered again.",
  ),
  exportToRtfs: switchedOff(
    "Whether discovered tools are written to files. Cached tools are not written again.",
  ),
  exportDirectory: option(v.string(), "Folder of these files. Without it, `capabilities/servers/pending`."),
  authHeaders: option(
    v.record(v.string(), v.string()),
    "Headers that replace those of the same name in a server's definition. Each server gets them, found ones too.",
  ),
  retryPolicy: option(retryPolicySchema, "Retries of a failed discovery.", {}),
  rateLimit: option(rateLimitSchema, "Rate limit of each server.", {}),
  maxParallelDiscoveries: option(count, "Servers that are asked at the same time.", 5),
  lazyOutputSchemas: option(
    v.boolean(),
    "Whether output schemas are left for later, even with `introspectOutputSchemas`.",
    true,
  ),
  allMatches: switchedOff("Whether all servers that a registry finds are taken, and not only the best 20."),
  signal: v.optional(
    v.custom<AbortSignal>(
      (value) => typeof (value as AbortSignal)?.addEventListener === "function",
      "a signal",
    ),
  ),
  onStep: option(
    v.custom<(step: DiscoveryStep) => void>(isFunction, "a function"),
    "Called after every step of every server.",
  ),
  onServer: option(
    v.custom<(progress: ServerProgress) => void>(isFunction, "a function"),
    "Called after every server, if several are asked.",
  ),
});

/** Options of a discovery. */
export type DiscoveryOptions = v.InferInput<typeof options>;

/** Options of a discovery with all defaults filled in. */
export type DiscoverySettings = v.InferOutput<typeof options>;

/** Checks the options of a discovery and fills in their defaults. Options that were checked stay as they are. */
export function parseDiscoveryOptions(given: DiscoveryOptions = {}): DiscoverySettings {
  const parsed = v.safeParse(options, given);
  if (parsed.success) return parsed.output;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The discovery has a wrong option: ${describeIssue(parsed.issues[0], "its options")}.`,
  );
}
