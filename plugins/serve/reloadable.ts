import { createGateway, type Gateway, type LoadedConfig } from "../../core/mod.ts";
import type { Client } from "./client.ts";
import type {} from "./exposure.ts";
import type { Front } from "./front.ts";

/** A gateway behind a front, which can be replaced while clients are connected. */
export interface Reloadable {
  readonly gateway: Gateway;
  /** What the agent is told of the gateway as a whole. */
  readonly instructions: (client?: Client["info"]) => string | undefined;
  /** Puts a gateway of another config in its place; the calls on their way finish on the old one. */
  reload(config: LoadedConfig): Promise<void>;
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** Opens the gateway of a config behind a front. */
export async function serveReloadable(front: Front, config: LoadedConfig): Promise<Reloadable> {
  let current = await open(config);
  let reloading: Promise<void> = Promise.resolve();
  /** The gateways before, whose last calls are still on their way. */
  const leaving = new Set<Promise<void>>();
  front.show(current.gateway, config.preset);

  return {
    get gateway() {
      return current.gateway;
    },
    instructions(client) {
      const { gateway, config: from } = current;
      return from.preset.instructions?.(gateway, gateway.services.exposure?.of(client));
    },
    reload(next) {
      // One after another: of two changes at once, the later one must be the one that stays.
      reloading = reloading
        .catch(() => {})
        .then(async () => {
          const opened = await open(next);
          const old = current;
          current = opened;
          front.show(opened.gateway, next.preset);
          const left: Promise<void> = old.gateway.close().finally(() => leaving.delete(left));
          leaving.add(left);
        });
      return reloading;
    },
    async close(options) {
      await reloading.catch(() => {});
      await Promise.all([current.gateway.close(options), ...leaving]);
    },
  };

  async function open(from: LoadedConfig): Promise<{ gateway: Gateway; config: LoadedConfig }> {
    const gateway = await createGateway({ ...from, plugins: [...(from.plugins ?? []), front.plugin] });
    return { gateway, config: from };
  }
}
