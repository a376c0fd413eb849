import { type Gateway, GatewayError, type Plugin } from "../../core/mod.ts";
import { createClients, findCaller } from "./client/call-client.ts";
import type { View } from "./view.ts";

/** Options of {@link servePlugin}. */
export interface ServePluginOptions {
  /** Whether several clients may be connected at once. */
  readonly isShared?: boolean;
  /** Called when the gateway is ready, before it is served. */
  readonly onReady?: (gateway: Gateway) => void;
}

/** The plugin of a gateway that is served through a view: it tells other plugins of the clients behind calls. */
export function servePlugin(
  view: View,
  { isShared = false, onReady }: ServePluginOptions = {},
): Plugin<"serve"> {
  return {
    name: "serve",
    provides: ["clients"],
    setup(gateway) {
      const clients = createClients(gateway, isShared);
      gateway.provide("clients", clients);
      return {
        ready() {
          checkRoutes(gateway);
          onReady?.(gateway);
        },
        "catalog:change": () => view.catalogChanged(gateway),
        // The hint comes from the tool's server, and a wrong one harms only the calls of that server.
        execute(call, next) {
          if (call.tool && !call.tool.builtin && call.tool.annotations?.readOnlyHint !== true) {
            findCaller(call)?.markEffects?.();
          }
          return next();
        },
      };
    },
  };
}

function checkRoutes(gateway: Pick<Gateway, "drivers">): void {
  for (const path of gateway.drivers("route").keys()) {
    if (path.startsWith("/")) continue;
    throw new GatewayError("PLUGIN_INVALID", `The route "${path}" cannot be served: it must begin with "/".`);
  }
}
