import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import { type RetryPolicy, retryPolicySchema } from "../lib/backoff.ts";
import { toShownUrl } from "../lib/http/errors.ts";

/** The default registry. */
export const OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io";

/** Options for a registry client. */
export interface RegistryOptions {
  /** Base URLs, the most trusted first; the official registry by default. HTTPS, except on this machine. */
  readonly registries?: readonly string[];
  /** A registry whose `Retry-After` exceeds the longest delay is not asked again. */
  readonly retry?: RetryPolicy;
  /** Deadline of one request in milliseconds; 20,000 by default. */
  readonly timeoutMs?: number;
  /** Largest answer in bytes; 16,000,000 by default. */
  readonly maxBytes?: number;
  /** Servers a page; 100 by default, the maximum of the official registry. */
  readonly pageSize?: number;
  /** Most pages of one list; 5,000 by default. */
  readonly maxPages?: number;
  /** Time to cache results, in milliseconds; an hour by default. */
  readonly ttlMs?: number;
}

/** Options with their defaults. */
export type RegistrySettings = Required<Omit<RegistryOptions, "retry">> & {
  readonly retry: Required<RetryPolicy>;
};

const count = v.pipe(v.number(), v.integer(), v.minValue(0, "a whole number, 0 or more"));
const many = v.pipe(v.number(), v.integer(), v.minValue(1, "a whole number, 1 or more"));

const options = v.strictObject({
  registries: v.optional(v.pipe(v.array(v.string()), v.minLength(1, "at least one URL")), [
    OFFICIAL_REGISTRY,
  ]),
  retry: v.optional(retryPolicySchema, {}),
  timeoutMs: v.optional(many, 20_000),
  maxBytes: v.optional(many, 16_000_000),
  pageSize: v.optional(many, 100),
  maxPages: v.optional(many, 5_000),
  ttlMs: v.optional(count, 3_600_000),
});

/** Checks the options of a registry client, and applies defaults. */
export function registrySettings(given: RegistryOptions = {}): RegistrySettings {
  const { success, output, issues } = v.safeParse(options, given);
  if (!success) {
    const path = v.getDotPath(issues[0]) ?? "registry";
    throw new GatewayError(
      "CONFIG_INVALID",
      `The option "${path}" of the registry needs ${issues[0].message}.`,
    );
  }
  return { ...output, registries: [...new Set(output.registries.map(baseUrl))] };
}

/** Normalizes the base URL of a registry. */
export function baseUrl(given: string): string {
  if (!URL.canParse(given))
    throw new GatewayError("CONFIG_INVALID", "The address of a registry is not a URL.");
  const url = new URL(given);
  const isOwn = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isOwn)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The registry ${toShownUrl(url)} must be reached over HTTPS, since what it says is run.`,
    );
  }
  url.hash = "";
  url.search = "";
  // Users copy the URL with the version of the API.
  return url.href.replace(/(\/v0(\.1)?)?(\/servers)?\/*$/, "");
}

/** Formats the URL of a registry for the user, without secrets. */
export function shownRegistry(base: string): string {
  return toShownUrl(base).replace(/\/$/, "");
}
