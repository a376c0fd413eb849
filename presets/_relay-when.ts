import type { Gateway, Plugin } from "../core/mod.ts";
import { type RelayOptions, relay } from "../plugins/relay/mod.ts";

/**
 * Lets clients use resources and prompts of servers where a preset shows servers as they are: where it shows its own
 * tools alone, what servers have besides theirs would fill the lists that it keeps short.
 */
export function relayWhen(
  isWanted: (gateway: Gateway) => boolean,
  plugin: Plugin<"relay", RelayOptions> = relay(),
): Plugin<"relay", RelayOptions> {
  return {
    ...plugin,
    setup: (gateway) => (isWanted(gateway) ? plugin.setup(gateway) : undefined),
    configure: (overrides) => relayWhen(isWanted, plugin.configure?.(overrides)),
  };
}
