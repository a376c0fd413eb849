/**
 * Servers of MCP registries: a client of the registry API, a copy on this machine that is searched without a network, and
 * plans for adding a server.
 *
 * @module
 */

import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { createRegistryClient } from "./client.ts";
import { createRegistrySearch } from "./search.ts";

export type {
  Registries,
  RegistryEntry,
  RegistryResult,
  RegistryStatus,
} from "../../core/services/registries.ts";
export type { RetryPolicy } from "../lib/backoff.ts";
export {
  createRegistryClient,
  type RegistryCache,
  type RegistryClient,
  type RegistryClientParts,
  type RegistrySearchOptions,
} from "./client.ts";
export { REGISTRY_NOT_FOUND, REGISTRY_REFUSED, REGISTRY_UNAVAILABLE } from "./errors.ts";
export { type Given, type InstallOptions, type InstallPlan, planInstall } from "./install.ts";
export {
  createMirror,
  type Mirror,
  type MirrorContent,
  type MirrorParts,
  type SyncOptions,
  type SyncProgress,
  type SyncReport,
} from "./mirror.ts";
export { OFFICIAL_REGISTRY, type RegistryOptions } from "./options.ts";
export type { ListOptions, RegistryPage } from "./pages.ts";
export { createRegistryRanker, type RegistryHit, type RegistryIndex, registryIndex } from "./rank.ts";
export type { RegistryParts } from "./request.ts";

/** Options for the registries plugin. */
export interface RegistriesOptions {
  /** Base URLs of registries, the most trusted first; those in `TOOLPIPE_REGISTRIES`, or the official one, by default. */
  readonly urls?: readonly string[];
}

const options = v.strictObject({
  urls: v.optional(v.array(v.string())),
});

/** Lets other plugins search MCP registries. */
export const registries: PluginFactory<"registries", RegistriesOptions> = definePlugin({
  name: "registries",
  uses: ["cache?", "state?"],
  provides: ["registries"],
  options: options as v.GenericSchema<RegistriesOptions>,
  setup(gateway, { urls }) {
    const { cache, state } = gateway.services;
    const named = urls ?? namedRegistries();
    const client = createRegistryClient(named ? { registries: named } : {}, { cache });
    gateway.provide("registries", createRegistrySearch(client, gateway, state?.shared ? cache : undefined));
  },
});

function namedRegistries(): readonly string[] | undefined {
  const named = (process.env["TOOLPIPE_REGISTRIES"] ?? "").split(/[\s,]+/).filter(Boolean);
  return named.length > 0 ? named : undefined;
}
