/**
 * Replicas: gateways of one configuration on many machines, which share their state and act as one.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import type { Commons } from "../state/commons.ts";
import type {} from "../state/mod.ts";
import { shareListings } from "./share-listings.ts";

/** The options of {@link replicas}. */
export interface ReplicasOptions {
  /** Whether it does anything; true by default, where the state is one that many machines share. */
  readonly enabled?: boolean;
  /**
   * Where the other replicas reach this one, such as `http://10.0.0.7:8080`. By default the address it is served at or,
   * where that is every address of the machine, the first one that others can reach.
   */
  readonly address?: string;
}

/** What this gateway is among its replicas. */
export interface Replicas {
  readonly commons: Commons;
  /** Where the others reach this one, where somebody has said so. */
  readonly address: string | undefined;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `replicas`, where the state is one that many machines share. */
    replicas?: Replicas;
  }
}

type Checked = ReplicasOptions & Required<Pick<ReplicasOptions, "enabled">>;

const options = v.strictObject({
  enabled: v.optional(v.boolean(), true),
  address: v.optional(
    v.pipe(v.string(), v.regex(/^https?:\/\/[^/?#@]+\/?$/, "an address such as http://10.0.0.7:8080")),
  ),
});

/**
 * Has gateways that share a Redis act as one: what one of them hears of a server reaches the others, and a session
 * of the older era is answered where it began, whoever is asked. Does nothing where the state is not shared.
 */
export const replicas: PluginFactory<"replicas", ReplicasOptions, Checked> = definePlugin({
  name: "replicas",
  // After the servers are known, and what was remembered of them.
  order: "post",
  keys: ["replicas"],
  needs: ["state"],
  options: options as v.GenericSchema<ReplicasOptions, Checked>,
  setup(gateway, { enabled, address }) {
    const { commons } = gateway.services.state ?? {};
    if (!enabled || !commons) return;
    gateway.services.replicas = { commons, address };
    const sharing = shareListings(gateway, commons);
    return { ready: sharing.start, close: sharing.stop };
  },
});
