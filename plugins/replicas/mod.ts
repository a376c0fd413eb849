/**
 * Replicas: gateways of one configuration on many machines, which share their state and act as one.
 *
 * @module
 */
import * as v from "valibot";
import { definePlugin } from "../../core/mod.ts";
import { option } from "../lib/options.ts";

const options = v.strictObject({
  enabled: option(v.boolean(), "Whether gateways that share their state act as one.", true),
  address: option(
    v.pipe(v.string(), v.regex(/^https?:\/\/[^/?#@]+\/?$/, "an address such as http://10.0.0.7:8080")),
    "The address at which other replicas reach this one, such as `http://10.0.0.7:8080`. By default the address it is served at or, if that stands for every address of the machine, the first one that others can reach.",
  ),
});

/** Options of {@link replicas}. */
export type ReplicasOptions = v.InferInput<typeof options>;

/**
 * Makes gateways that share a Redis act as one: the listing that one of them gets from a server reaches the others, and
 * a client's session is answered by the replica where it began. Does nothing if the state is not shared.
 */
export const replicas = definePlugin({
  name: "replicas",
  // After the servers and their snapshot are known.
  order: "post",
  keys: ["replicas"],
  uses: ["state", "servers?"],
  provides: ["sessions"],
  options,
  async setup(gateway, { enabled, address }) {
    const { shared } = gateway.services.state;
    if (!enabled || !shared) return;
    const [{ createSessionHomes }, { shareListings }] = await Promise.all([
      import("./session-homes.ts"),
      import("./share-listings.ts"),
    ]);
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
