import * as v from "valibot";
import { GatewayError } from "../../core/mod.ts";
import { retryPolicySchema } from "../lib/backoff.ts";
import { stripUrl } from "../lib/http/errors.ts";
import { isLoopback } from "../lib/http/server-request.ts";
import { option, wholeNumber } from "../lib/options.ts";

/** The default registry. */
export const OFFICIAL_REGISTRY = "https://registry.modelcontextprotocol.io";

const count = wholeNumber(0);
const many = wholeNumber(1);

const options = v.strictObject({
  registries: option(
    v.pipe(v.array(v.string()), v.minLength(1, "at least one URL")),
    "Base URLs, the most trusted first. HTTPS, except on this machine.",
    [OFFICIAL_REGISTRY],
  ),
  retry: option(
    retryPolicySchema,
    "Retries. A registry whose `Retry-After` exceeds the longest delay is not asked again.",
    {},
  ),
  timeoutMs: option(many, "Deadline of one request in milliseconds.", 20_000),
  maxBytes: option(many, "Largest answer in bytes.", 16_000_000),
  pageSize: option(many, "Servers a page; the official registry allows no more.", 100),
  maxPages: option(many, "Most pages of one list.", 5_000),
  ttlMs: option(count, "Time to cache results, in milliseconds.", 3_600_000),
});

/** Options of a registry client. */
export type RegistryOptions = v.InferInput<typeof options>;

/** Options of a registry client with their defaults. */
export type RegistrySettings = v.InferOutput<typeof options>;

/** Splits a list of registries, by default that of `TOOLPIPE_REGISTRIES`; undefined if it is empty. */
export function splitUrls(list: string = process.env["TOOLPIPE_REGISTRIES"] ?? ""): string[] | undefined {
  const urls = list.split(/[\s,]+/).filter(Boolean);
  return urls.length > 0 ? urls : undefined;
}

/** Checks the options of a registry client, and applies defaults. */
export function parseRegistryOptions(given: RegistryOptions = {}): RegistrySettings {
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
function baseUrl(given: string): string {
  if (!URL.canParse(given))
    throw new GatewayError("CONFIG_INVALID", "The address of a registry is not a URL.");
  const url = new URL(given);
  const isOwn = isLoopback(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isOwn)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The registry ${stripUrl(url)} must be reached over HTTPS, since what it says is run.`,
    );
  }
  url.hash = "";
  url.search = "";
  // Users copy the URL with the version of the API.
  return url.href.replace(/(\/v0(\.1)?)?(\/servers)?\/*$/, "");
}

/** Formats the URL of a registry for the user, without secrets. */
export function formatRegistry(base: string): string {
  return stripUrl(base).replace(/\/$/, "");
}
