import type { Gateway } from "../../core/mod.ts";
import { discoveryOf } from "./discovery.ts";
import { spelled } from "./names.ts";
import { type DiscoveryOptions, defaultDiscovery } from "./options.ts";

/** The options that hold in a gateway. */
export function optionsOf(gateway: Gateway): Required<DiscoveryOptions> {
  return discoveryOf(gateway)?.options ?? defaultDiscovery;
}

/** A sentence in which the five tools are called as this gateway calls them. */
export function say(gateway: Gateway, text: string): string {
  return spelled(text, optionsOf(gateway).toolNames);
}
