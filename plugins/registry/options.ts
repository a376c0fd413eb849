import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import { type RetryPolicy, retryPolicySchema } from "../retry/backoff.ts";
import { shownUrl } from "../upstreams/http-errors.ts";

/** The registry that is asked where none is named. */
export const OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io";

/** The options of a registry client. */
export interface RegistryOptions {
  /** Base URLs, the most trusted first; the official registry by default. HTTPS, except on this machine. */
  readonly registries?: readonly string[];
  /** A registry that wants to be left alone for longer than the longest wait is not asked again. */
  readonly retry?: RetryPolicy;
  /** How long one request may take; 20,000 by default. */
  readonly timeoutMs?: number;
  /** How large one answer may be; 16,000,000 by default. */
  readonly maxBytes?: number;
  /** How many servers a page is asked for; 100 by default, which is the most that the official registry gives. */
  readonly pageSize?: number;
  /** How many pages of one list are read; 5,000 by default. */
  readonly maxPages?: number;
  /** How long results are kept, in milliseconds; an hour by default. */
  readonly ttlMs?: number;
}

/** The same, with everything decided. */
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

/** Checks the options of a registry client, and fills in what they leave open. */
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

/** The URL that the paths of the API are put behind. */
export function baseUrl(given: string): string {
  if (!URL.canParse(given))
    throw new GatewayError("CONFIG_INVALID", "The address of a registry is not a URL.");
  const url = new URL(given);
  const isOwn = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isOwn)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The registry ${shownUrl(url)} must be reached over HTTPS, since what it says is run.`,
    );
  }
  url.hash = "";
  url.search = "";
  // Somebody may well have copied the address with the version of the API.
  return url.href.replace(/(\/v0(\.1)?)?(\/servers)?\/*$/, "");
}

/** A registry as a person may see it. */
export function shownRegistry(base: string): string {
  return shownUrl(base).replace(/\/$/, "");
}
