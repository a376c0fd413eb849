import { createGateway, type Gateway, GatewayError, type LoadedConfig, type Plugin } from "../../core/mod.ts";
import {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  type Client,
  QUESTIONS_FULL,
} from "../../core/services/clients.ts";
import { PROMPT_NOT_FOUND, RESOURCE_NOT_FOUND } from "../../core/services/resources.ts";
import { createClients, findCaller } from "./client/call-client.ts";
import type { View } from "./view.ts";

/** A gateway behind a view, which can be replaced while clients are connected. */
export interface Reloadable {
  /** The gateway that is served now. */
  readonly gateway: Gateway;
  /** Instructions for the agent, by the name of its client. */
  readonly instructions: (client?: Client["info"]) => string | undefined;
  /**
   * Serves another config from now on; running calls finish on the old gateway. If the config cannot be set up, it rejects
   * and everything stays as it was.
   */
  reload(config: LoadedConfig): Promise<void>;
  /** Takes no more requests, lets running calls finish for up to `drainMs`, then ends everything. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** Opens the gateway of a config, and serves it through a view. */
export async function serveReloadable(
  view: View,
  config: LoadedConfig,
  options?: ServePluginOptions,
): Promise<Reloadable> {
  const plugin = servePlugin(view, options);
  let current = await open(config);
  let reloading: Promise<void> = Promise.resolve();
  /** Former gateways whose last calls are still running. */
  const leaving = new Set<Promise<void>>();
  view.show(current.gateway, config.preset);

  return {
    get gateway() {
      return current.gateway;
    },
    instructions(client) {
      const { gateway, config: from } = current;
      return from.preset.instructions?.(gateway, gateway.services.exposure?.get(client));
    },
    reload(next) {
      // One after another: of two changes at once, the later one must be the one that stays.
      reloading = reloading
        .catch(() => {})
        .then(async () => {
          const old = current;
          const opened = await open(next, old.gateway);
          current = opened;
          view.show(opened.gateway, next.preset);
          const left: Promise<void> = old.gateway.close().finally(() => leaving.delete(left));
          leaving.add(left);
        });
      return reloading;
    },
    async close(drain) {
      await reloading.catch(() => {});
      await Promise.all([current.gateway.close(drain), ...leaving]);
    },
  };

  async function open(
    from: LoadedConfig,
    previous?: Gateway,
  ): Promise<{ gateway: Gateway; config: LoadedConfig }> {
    const gateway = await createGateway({ ...from, plugins: [...(from.plugins ?? []), plugin], previous });
    return { gateway, config: from };
  }
}

/** Options of {@link servePlugin}. */
export interface ServePluginOptions {
  /** Whether several clients may be connected at once. */
  readonly isShared?: boolean;
  /** Called when the gateway is ready, before it is served. */
  readonly onReady?: (gateway: Gateway) => void;
}

/** Creates the plugin of a gateway that is served through a view: it provides the clients behind calls. */
export function servePlugin(
  view: View,
  { isShared = false, onReady }: ServePluginOptions = {},
): Plugin<"serve"> {
  return {
    name: "serve",
    provides: ["clients"],
    errors: {
      CLIENT_CANNOT,
      CLIENT_FAILED,
      CLIENT_LEFT,
      CLIENT_SILENT,
      PROMPT_NOT_FOUND,
      QUESTIONS_FULL,
      RESOURCE_NOT_FOUND,
    },
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
