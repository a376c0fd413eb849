/**
 * Servers of MCP registries: a client of the registry API, a copy on this machine that is searched without a network, and
 * plans for adding a server.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin } from "../../core/mod.ts";
import { option } from "../lib/options.ts";
import { createRegistryClient } from "./client.ts";
import { REGISTRY_NOT_FOUND, REGISTRY_REFUSED, REGISTRY_UNAVAILABLE } from "./errors.ts";
import { splitUrls } from "./options.ts";

export { createRegistryClient, type RegistryClient } from "./client.ts";
export { REGISTRY_NOT_FOUND, REGISTRY_REFUSED, REGISTRY_UNAVAILABLE } from "./errors.ts";
export { type Given, type InstallOptions, type InstallPlan, planInstall } from "./install.ts";
export { createMirror, type Mirror } from "./mirror.ts";
export { OFFICIAL_REGISTRY, type RegistryOptions } from "./options.ts";
export { createRegistryIndex, createRegistryRanker, type RegistryHit, type RegistryIndex } from "./rank.ts";

const options = v.strictObject({
  urls: option(
    v.array(v.string()),
    "Base URLs of registries, the most trusted first. Without them, those in `TOOLPIPE_REGISTRIES`, or the official one.",
  ),
});

/** Options of the plugin `registries`. */
export type RegistriesOptions = v.InferInput<typeof options>;

/** Lets other plugins search MCP registries. */
export const registries = definePlugin({
  name: "registries",
  uses: ["cache?", "state?"],
  provides: ["registries"],
  options,
  errors: { REGISTRY_UNAVAILABLE, REGISTRY_NOT_FOUND, REGISTRY_REFUSED },
  setup(gateway, { urls }) {
    const { cache, state } = gateway.services;
    const client = createRegistryClient({ registries: urls ?? splitUrls() }, { cache });
    gateway.provide("registries", {
      async search(...query) {
        const { searchRegistries } = await import("./search.ts");
        return searchRegistries(client, gateway, state?.shared ? cache : undefined, ...query);
      },
    });
  },
});
