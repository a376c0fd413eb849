import { type CloseOptions, createGateway, type Gateway, type LoadedConfig } from "../../core/mod.ts";
import type { Client } from "../../core/services/clients.ts";
import { type ServePluginOptions, servePlugin } from "./client/call-client.ts";
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
  close(options?: CloseOptions): Promise<void>;
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
      const own = from.preset.instructions?.(gateway, gateway.services.exposure?.get(client));
      const notices = gateway.services.notices?.() ?? [];
      return [...(own ? [own] : []), ...notices].join(" ") || undefined;
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
