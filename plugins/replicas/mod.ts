/**
 * Replicas: gateways of one configuration on many machines, which share their state and act as one.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { createSessionHomes } from "./session-homes.ts";
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

type Checked = ReplicasOptions & Required<Pick<ReplicasOptions, "enabled">>;

const options = v.strictObject({
  enabled: v.optional(v.boolean(), true),
  address: v.optional(
    v.pipe(v.string(), v.regex(/^https?:\/\/[^/?#@]+\/?$/, "an address such as http://10.0.0.7:8080")),
  ),
});

/**
 * Makes gateways that share a Redis act as one: the listing that one of them gets from a server reaches the others, and
 * a client's session is answered by the replica where it began. Does nothing if the state is not shared.
 */
export const replicas: PluginFactory<"replicas", ReplicasOptions, Checked> = definePlugin({
  name: "replicas",
  // After the servers are known, and what was remembered of them.
  order: "post",
  keys: ["replicas"],
  uses: ["state", "servers?"],
  provides: ["sessions"],
  options: options as v.GenericSchema<ReplicasOptions, Checked>,
  setup(gateway, { enabled, address }) {
    const { shared } = gateway.services.state;
    if (!enabled || !shared) return;
    const isReload = gateway.previous?.services.sessions !== undefined;
    const homes = createSessionHomes({ shared, address, isReload });
    gateway.provide("sessions", homes);
    const sharing = shareListings(gateway, shared);
    return {
      ready: sharing.start,
      close() {
        homes.close();
        return sharing.stop();
      },
    };
  },
});
